// Package generator makes webhook events in the shape that GitHub documents, for the
// example's handler: most are good, and a known share of them is not.
package generator

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"unicode/utf8"
)

// NotReady is the event type of all events that should wait: the handler's setting
// not_ready has to name it.
const NotReady = "deployment"

// Options says what to make. Equal options make equal bytes.
type Options struct {
	Count  int
	Seed   uint64
	Secret string // what the good events are signed with
	Group  string // the group for each message; empty leaves it to whoever enqueues them
}

// Expected is how many messages the handler should treat in which way.
type Expected struct {
	Acked        int          `json:"acked"`
	DeadLettered DeadLettered `json:"dead_lettered"`
	Delayed      int          `json:"delayed"`
}

// DeadLettered counts the dead letters by their reason.
type DeadLettered struct {
	Forged    int `json:"forged"`
	Malformed int `json:"malformed"`
}

// kind is what an event is an example of.
type kind int

const (
	good kind = iota
	large
	notReady
	forged
	malformed
)

// perMille is the share of each kind but the good ones, which are the rest.
var perMille = []struct {
	kind  kind
	share int
}{{large, 1}, {notReady, 50}, {forged, 50}, {malformed, 50}}

// counts is how many events of each kind a number of events holds.
func counts(total int) map[kind]int {
	of := map[kind]int{good: total}
	for _, entry := range perMille {
		n := (total*entry.share + 500) / 1000
		of[entry.kind] = n
		of[good] -= n
	}
	return of
}

// Expect is what the handler should make of that many events.
func Expect(total int) Expected {
	of := counts(total)
	return Expected{
		Acked:        of[good] + of[large],
		DeadLettered: DeadLettered{Forged: of[forged], Malformed: of[malformed]},
		Delayed:      of[notReady],
	}
}

// Event is what a handler is given of one.
type Event struct {
	Payload []byte
	Headers map[string]string
}

// message is one line, as the enqueue command reads it.
type message struct {
	Payload       *string           `json:"payload,omitempty"`
	PayloadBase64 string            `json:"payload_base64,omitempty"`
	Headers       map[string]string `json:"headers"`
	Group         string            `json:"group,omitempty"`
}

// Events makes the events, one after the other.
func Events(options Options) iter.Seq[Event] {
	g := &generator{
		Rand:   rand.New(rand.NewPCG(options.Seed, 0)),
		secret: options.Secret,
	}
	var kinds []kind
	of := counts(options.Count)
	for kind := good; kind <= malformed; kind++ {
		for range of[kind] {
			kinds = append(kinds, kind)
		}
	}
	g.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	return func(yield func(Event) bool) {
		for _, kind := range kinds {
			if !yield(g.make(kind)) {
				return
			}
		}
	}
}

// Write writes the events as JSON Lines, one message a line.
func Write(w io.Writer, options Options) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for event := range Events(options) {
		m := envelope(event)
		m.Group = options.Group
		if err := encoder.Encode(m); err != nil {
			return err
		}
	}
	return out.Flush()
}

// generator draws everything from one source of random numbers.
type generator struct {
	*rand.Rand
	secret            string
	forged, malformed int // made so far: their varieties take turns
}

func (g *generator) make(kind kind) Event {
	name := pick(g, "push", "push", "push", "issues", "pull_request", "ping")
	switch kind {
	case large:
		name = "push"
	case notReady:
		name = NotReady
	}
	var body []byte
	switch kind {
	case large:
		body = g.largePush()
	case malformed:
		body = g.malformedBody(name)
	default:
		body = encode(g.event(name))
	}
	headers := map[string]string{
		"Content-Type":        "application/json",
		"X-GitHub-Delivery":   g.uuid(),
		"X-GitHub-Event":      name,
		"X-Hub-Signature-256": Sign(g.secret, body),
	}
	if kind == forged {
		g.forge(headers)
	}
	return Event{body, headers}
}

// envelope carries the body as text where JSON can, and as base64 where it cannot.
func envelope(e Event) message {
	if !utf8.Valid(e.Payload) {
		return message{PayloadBase64: base64.StdEncoding.EncodeToString(e.Payload), Headers: e.Headers}
	}
	text := string(e.Payload)
	return message{Payload: &text, Headers: e.Headers}
}

// Sign is GitHub's signature of a body, as the header X-Hub-Signature-256 has it.
func Sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// forge breaks the signature.
func (g *generator) forge(headers map[string]string) {
	switch g.forged % 3 {
	case 0: // made up
		headers["X-Hub-Signature-256"] = "sha256=" + g.hex(sha256.Size)
	case 1: // left out
		delete(headers, "X-Hub-Signature-256")
	case 2: // taken from another event
		headers["X-Hub-Signature-256"] = Sign(g.secret, encode(g.event("ping")))
	}
	g.forged++
}

// malformedBody is what the signature covers and nobody can read.
func (g *generator) malformedBody(name string) []byte {
	event := g.event(name)
	g.malformed++
	switch g.malformed % 4 {
	case 0: // cut off in the middle
		whole := encode(event)
		return whole[:1+g.IntN(len(whole)-1)]
	case 1: // of another type than documented
		field := "repository"
		if name == "ping" {
			field = "hook_id"
		}
		event[field] = "octo-org/octo-repo"
		return encode(event)
	case 2: // not even text
		noise := make([]byte, 64)
		for i := range noise {
			noise[i] = byte(g.Uint32())
		}
		noise[0] = 0xff // never the start of UTF-8
		return noise
	default:
		return []byte{}
	}
}

// encode cannot fail: the events are made of maps, slices, strings and numbers.
func encode(event map[string]any) []byte {
	text, err := json.Marshal(event)
	if err != nil {
		panic(fmt.Sprintf("generator: %v", err))
	}
	return text
}

func pick[T any](g *generator, choices ...T) T { return choices[g.IntN(len(choices))] }
