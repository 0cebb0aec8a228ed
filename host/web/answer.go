package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/admin"
)

// answer writes a value as JSON.
func answer(w http.ResponseWriter, status int, value any) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString(`{"error":"the answer is no JSON"}` + "\n")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client has gone
}

// fail writes an error as JSON.
func fail(w http.ResponseWriter, status int, err error) {
	answer(w, status, map[string]string{"error": err.Error()})
}

// refusal is an error with the status that it has over HTTP.
type refusal struct {
	status int
	error
}

func (r refusal) Unwrap() error { return r.error }

func refuse(status int, text string) error { return refusal{status, errors.New(text)} }

// failed writes an error with the status of its kind.
func failed(w http.ResponseWriter, err error) {
	var known refusal
	var handler *host.UnknownHandler
	var table *host.UnknownTable
	var mistake *admin.Error
	switch {
	case errors.As(err, &known):
		fail(w, known.status, err)
	case errors.As(err, &handler), errors.As(err, &table):
		fail(w, http.StatusNotFound, err)
	case errors.As(err, &mistake):
		fail(w, http.StatusBadRequest, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		fail(w, http.StatusGatewayTimeout, err)
	default:
		fail(w, http.StatusInternalServerError, err)
	}
}

var errLarge = errors.New("the body is larger than 64 KiB")

// read reads the body of a request, which is a JSON object or nothing, into v.
func read(r *http.Request, v any) error {
	body, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return refusal{http.StatusRequestEntityTooLarge, errLarge}
	case err != nil:
		return refusal{http.StatusBadRequest, err}
	case len(body) == 0:
		return nil
	}
	// A form of another page cannot say that it is JSON without asking first.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "send the body with Content-Type: application/json")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return refuse(http.StatusBadRequest, "the body is not what is asked for: "+err.Error())
	}
	if d.More() {
		return refuse(http.StatusBadRequest, "the body is more than one JSON value")
	}
	return nil
}
