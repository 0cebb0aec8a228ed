package main

import (
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/examples/wasm/webhook/events/generator"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/inboxtest"
)

// GitHub documents this signature for the payload "Hello, World!".
const (
	documentedSecret    = "It's a Secret to Everybody"
	documentedSignature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
)

func host(t *testing.T) *inboxtest.Host {
	t.Helper()
	host := inboxtest.New(t, map[string]string{"secret": documentedSecret, "not_ready": generator.NotReady, "retry_delay": "1h"})
	if refusal := host.Init(start); refusal != "" {
		t.Fatal(refusal)
	}
	return host
}

func TestSignature(t *testing.T) {
	signer := newSigner(documentedSecret)
	for _, test := range []struct {
		name, body, signature, want string
	}{
		{"as documented", "Hello, World!", documentedSignature, ""},
		{"once more, after another", "Hello, World!", documentedSignature, ""},
		{"of another body", "Hello, World?", documentedSignature, "is not the signature of this body"},
		{"missing", "Hello, World!", "", "is missing"},
		{"of the older kind", "Hello, World!", "sha1=757107ea0eb2509fc211221cce984b8a37570b6d", "does not start with sha256="},
		{"too short", "Hello, World!", documentedSignature[:70], "is not 64 hexadecimal digits"},
		{"too long", "Hello, World!", documentedSignature + "00", "is not 64 hexadecimal digits"},
		{"not hexadecimal", "Hello, World!", strings.Replace(documentedSignature, "7", "g", 1), "is not 64 hexadecimal digits"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := signer.check([]byte(test.body), test.signature)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if newSigner("another secret").check([]byte("Hello, World!"), documentedSignature) == nil {
		t.Error("the secret does not matter")
	}
}

func TestHandle(t *testing.T) {
	const (
		pushBody       = `{"ref":"refs/heads/main","after":"c0ffee","repository":{"full_name":"octo-org/octo-repo"},"commits":[{"id":"c0ffee"}]}`
		deploymentBody = `{"action":"created","deployment":{"id":1,"environment":"production"},"repository":{"full_name":"octo-org/octo-repo"}}`
	)
	for _, test := range []struct {
		name, event, body string
		outcome           inboxtest.Outcome
		reason            string
	}{
		{"push", "push", pushBody, inboxtest.Ack, ""},
		{"not ready", "deployment", deploymentBody, inboxtest.RetryAfter, "deployment events are not taken yet"},
		{"not ready and malformed", "deployment", "{}", inboxtest.DeadLetter, "malformed: the body of the deployment event has no action"},
		{"unknown type", "star", "{}", inboxtest.Drop, "nothing here handles this type of event: star"},
		{"no type", "", pushBody, inboxtest.DeadLetter, "malformed: X-GitHub-Event is missing"},
		{"empty", "push", "", inboxtest.DeadLetter, "malformed: the body of the push event is empty"},
		{"truncated", "push", pushBody[:40], inboxtest.DeadLetter, "malformed: the body of the push event is no JSON"},
		{"not JSON", "push", "payload=", inboxtest.DeadLetter, "malformed: the body of the push event is no JSON"},
		{"wrong type", "push", `{"ref":7}`, inboxtest.DeadLetter, "malformed: the body of the push event has no ref"},
		{"not an object", "push", `[]`, inboxtest.DeadLetter, "malformed: the body of the push event has no ref"},
		{"another event's body", "issues", pushBody, inboxtest.DeadLetter, "malformed: the body of the issues event has no action"},
		{"null", "push", "null", inboxtest.DeadLetter, "malformed: the body of the push event has no ref"},
	} {
		t.Run(test.name, func(t *testing.T) {
			headers := map[string]string{"X-Hub-Signature-256": generator.Sign(documentedSecret, []byte(test.body))}
			if test.event != "" {
				headers["X-GitHub-Event"] = test.event
			}
			got := host(t).Deliver(handle, inboxtest.Message{Payload: []byte(test.body), Headers: headers})
			if got.Outcome != test.outcome || got.Reason != test.reason {
				t.Errorf("got %s: %s", got.Outcome, got.Reason)
			}
			if test.outcome == inboxtest.RetryAfter && got.Delay != time.Hour {
				t.Errorf("the delay is %s", got.Delay)
			}
			if test.outcome == inboxtest.Ack && len(got.Log) != 1 {
				t.Errorf("an ack is worth one line, not %q", got.Log)
			}
		})
	}
}

// The generator and the handler have to agree about every single event.
func TestGeneratedEvents(t *testing.T) {
	const total = 2000
	host := host(t)
	var got generator.Expected
	for event := range generator.Events(generator.Options{Count: total, Seed: 7, Secret: documentedSecret}) {
		result := host.Deliver(handle, inboxtest.Message{Payload: event.Payload, Headers: event.Headers})
		switch kind, _, _ := strings.Cut(result.Reason, ":"); {
		case result.Outcome == inboxtest.Ack:
			got.Acked++
		case result.Outcome == inboxtest.RetryAfter:
			got.Delayed++
		case result.Outcome == inboxtest.DeadLetter && kind == "forged":
			got.DeadLettered.Forged++
		case result.Outcome == inboxtest.DeadLetter && kind == "malformed":
			got.DeadLettered.Malformed++
		default:
			t.Errorf("%s: %s", result.Outcome, result.Reason)
		}
	}
	if want := generator.Expect(total); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestConfiguration(t *testing.T) {
	for _, test := range []struct {
		name    string
		config  map[string]string
		refusal string
	}{
		{"no secret", nil, "config: secret is missing: set it to the webhook's secret"},
		{"only a secret", map[string]string{"secret": "s"}, ""},
		{"spaces", map[string]string{"secret": "s", "not_ready": " push , ,ping,"}, ""},
		{"no duration", map[string]string{"secret": "s", "retry_delay": "soon"}, `config: retry_delay is "soon": write a positive duration such as 1h`},
		{"no delay", map[string]string{"secret": "s", "retry_delay": "0s"}, `config: retry_delay is "0s": write a positive duration such as 1h`},
		{"empty delay", map[string]string{"secret": "s", "retry_delay": ""}, `config: retry_delay is "": write a positive duration such as 1h`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := inboxtest.New(t, test.config).Init(start); got != test.refusal {
				t.Errorf("refused with %q", got)
			}
		})
	}
	if len(settings.notReady) != 0 {
		t.Errorf("not ready are %v, left over from another configuration", settings.notReady)
	}
}
