package generator

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"
)

func write(t *testing.T, options Options) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, options); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSameSeedSameBytes(t *testing.T) {
	options := Options{Count: 1000, Seed: 1, Secret: "s"}
	first := write(t, options)
	if !bytes.Equal(first, write(t, options)) {
		t.Error("the same seed makes other bytes")
	}
	options.Seed = 2
	if bytes.Equal(first, write(t, options)) {
		t.Error("another seed makes the same bytes")
	}
}

func TestExpectAddsUp(t *testing.T) {
	for _, total := range []int{0, 1, 9, 10, 20, 1000, 20_000} {
		of := Expect(total)
		if sum := of.Acked + of.DeadLettered.Forged + of.DeadLettered.Malformed + of.Delayed; sum != total {
			t.Errorf("%d events, %d expected: %+v", total, sum, of)
		}
	}
	want := Expected{Acked: 17_000, DeadLettered: DeadLettered{Forged: 1000, Malformed: 1000}, Delayed: 1000}
	if got := Expect(20_000); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestLines(t *testing.T) {
	const total = 3000
	events := map[string]int{}
	var lines, large, binary, empty, unsigned int
	scanner := bufio.NewScanner(bytes.NewReader(write(t, Options{Count: total, Seed: 3, Secret: "s", Group: "hooks"})))
	scanner.Buffer(nil, 4<<20)
	for scanner.Scan() {
		lines++
		decoder := json.NewDecoder(bytes.NewReader(scanner.Bytes()))
		decoder.DisallowUnknownFields()
		var m message
		if err := decoder.Decode(&m); err != nil {
			t.Fatal(err)
		}
		events[m.Headers["X-GitHub-Event"]]++
		if m.Group != "hooks" || m.Headers["X-GitHub-Delivery"] == "" {
			t.Errorf("group %q, headers %v", m.Group, m.Headers)
		}
		if m.Headers["X-Hub-Signature-256"] == "" {
			unsigned++
		}
		switch {
		case m.Payload == nil && m.PayloadBase64 == "":
			t.Error("a line has no payload")
		case m.Payload == nil:
			binary++
		case *m.Payload == "":
			empty++
		case len(*m.Payload) >= smallestLarge:
			large++
			if len(*m.Payload) > 1<<20 {
				t.Errorf("a payload has %d bytes, more than max_payload lets pass", len(*m.Payload))
			}
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	if lines != total || large != 3 || binary < 38 || empty != 37 || unsigned != 50 {
		t.Errorf("%d lines, %d large, %d binary, %d empty, %d unsigned", lines, large, binary, empty, unsigned)
	}
	for _, name := range []string{"push", "issues", "pull_request", "ping", NotReady} {
		if events[name] == 0 {
			t.Errorf("no %s event", name)
		}
	}
}
