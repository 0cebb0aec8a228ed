package outbound

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// request is what a guest asks for.
type request struct {
	Method     string            `json:"method"`
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers"`
	Body       *string           `json:"body"`
	BodyBase64 *string           `json:"body_base64"`
	TimeoutMS  int64             `json:"timeout_ms"`
}

// response is what it gets.
type response struct {
	Status     int               `json:"status"`
	Headers    map[string]string `json:"headers"` // those that came several times joined by ", "
	Body       *string           `json:"body,omitempty"`
	BodyBase64 *string           `json:"body_base64,omitempty"` // where the body is not UTF-8
}

// forbidden are the headers that belong to the connection, or say where the request goes.
var forbidden = map[string]bool{
	"Host": true, "Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Proxy-Authorization": true, "Proxy-Authenticate": true,
	"Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "Content-Length": true, "Expect": true,
}

var errRequest = errors.New("this is no request")

// parse reads a request; a timeout of 0 is none of its own.
func parse(text []byte) (*http.Request, time.Duration, error) {
	var in request
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || !utf8.Valid(text) {
		return nil, 0, errRequest
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, 0, errRequest
	}
	u, err := url.Parse(in.URL)
	if err != nil || u.User != nil || u.Opaque != "" || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsRune(in.URL, '\\') {
		return nil, 0, errRequest
	}
	body, err := in.body()
	if err != nil || in.TimeoutMS < 0 || in.TimeoutMS > int64(24*time.Hour/time.Millisecond) {
		return nil, 0, errRequest
	}
	if in.Method == "" {
		in.Method = http.MethodGet
	}
	if in.Method == http.MethodConnect || in.Method == http.MethodTrace {
		return nil, 0, errRequest
	}
	out, err := http.NewRequest(in.Method, in.URL, bytes.NewReader(body))
	if err != nil {
		return nil, 0, errRequest
	}
	for name, value := range in.Headers {
		name = http.CanonicalHeaderKey(name)
		if forbidden[name] || !token(name) || strings.ContainsAny(value, "\r\n\x00") {
			return nil, 0, errRequest
		}
		out.Header.Set(name, value)
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", "inbox-wasm")
	}
	return out, time.Duration(in.TimeoutMS) * time.Millisecond, nil
}

func (in *request) body() ([]byte, error) {
	switch {
	case in.Body != nil && in.BodyBase64 != nil:
		return nil, errRequest
	case in.Body != nil:
		return []byte(*in.Body), nil
	case in.BodyBase64 != nil:
		return base64.StdEncoding.DecodeString(*in.BodyBase64)
	}
	return nil, nil
}

// token reports a name of a header (RFC 9110, 5.6.2).
func token(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return name != ""
}

func respond(r *http.Response, body []byte) ([]byte, error) {
	out := response{Status: r.StatusCode, Headers: make(map[string]string, len(r.Header))}
	for name, values := range r.Header {
		out.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	if utf8.Valid(body) {
		text := string(body)
		out.Body = &text
	} else {
		text := base64.StdEncoding.EncodeToString(body)
		out.BodyBase64 = &text
	}
	return json.Marshal(out)
}

// failure says why there is no response.
func failure(err error, late bool) []byte {
	said := struct {
		Message string `json:"message"`
		Timeout bool   `json:"timeout"`
	}{err.Error(), late}
	text, err := json.Marshal(said)
	if err != nil {
		panic(err) // a string and a boolean always have a form in JSON
	}
	return text
}
