package inbox

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/internal/host"
)

// Request is an HTTP request, for a handler with allow = { http = ["https://.."] }.
type Request struct {
	Method  string // "" is GET
	URL     string // of an origin that the handler allows
	Headers map[string]string
	Body    []byte
	Timeout time.Duration // 0 is the delivery's own
}

// Response is the answer to a request, whatever its status.
type Response struct {
	Status  int
	Headers map[string]string // by names in lower case; those that came several times joined by ", "
	Body    []byte
}

// HTTPError is why a request has no answer.
type HTTPError struct {
	Message string
	Timeout bool // the request's own Timeout passed
	Code    int  // what the host's function returned
}

func (e *HTTPError) Error() string { return "http: " + e.Message }

// Send sends a request through the host and returns its response.
//
//	r, err := inbox.Send(&inbox.Request{Method: "POST", URL: "https://api.example.com/mails", Body: m.Payload(),
//		Headers: map[string]string{"Idempotency-Key": m.Meta().ID}})
//
// The host refuses origins that the handler does not allow, and responses that are too large. A response that says no,
// such as 503, is no error.
func Send(r *Request) (*Response, error) {
	in := struct {
		Method     string            `json:"method,omitempty"`
		URL        string            `json:"url"`
		Headers    map[string]string `json:"headers,omitempty"`
		Body       *string           `json:"body,omitempty"`
		BodyBase64 []byte            `json:"body_base64,omitempty"`
		TimeoutMS  int64             `json:"timeout_ms,omitempty"`
	}{Method: r.Method, URL: r.URL, Headers: r.Headers}
	if utf8.Valid(r.Body) {
		text := string(r.Body)
		in.Body = &text
	} else {
		in.BodyBase64 = r.Body
	}
	if r.Timeout > 0 {
		in.TimeoutMS = max(r.Timeout.Milliseconds(), 1)
	}
	text, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("inbox: encode the request: %w", err)
	}
	length := host.HTTP(string(text))
	if length < 0 && length != failed {
		return nil, &HTTPError{Message: httpRefusal(length), Code: int(length)}
	}
	answer, exists := read("result", make([]byte, 0, max(int(length), 256)), host.Result)
	if !exists {
		return nil, &HTTPError{Message: "the host could not send the request", Code: int(length)}
	}
	if length == failed {
		var said struct {
			Message string
			Timeout bool
		}
		if err := json.Unmarshal(answer, &said); err != nil {
			said.Message = string(answer)
		}
		return nil, &HTTPError{Message: said.Message, Timeout: said.Timeout, Code: int(length)}
	}
	var out struct {
		Status     int
		Headers    map[string]string
		Body       string
		BodyBase64 []byte `json:"body_base64"`
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, fmt.Errorf("inbox: the host's result is not what the contract says: %w", err)
	}
	response := &Response{Status: out.Status, Headers: out.Headers, Body: out.BodyBase64}
	if response.Body == nil {
		response.Body = []byte(out.Body)
	}
	return response, nil
}

func httpRefusal(code int32) string {
	switch code {
	case badArgument:
		return "this is no request: its method, URL, headers or body"
	case notAllowed:
		return `the handler may not ask this address: see allow.http in inbox.toml`
	case deadlinePassed:
		return "the deadline passed"
	case tooLarge:
		return "the response is beyond limits.http_response, though the request was sent"
	}
	return hostError("http", code)
}
