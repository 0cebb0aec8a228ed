package conformance

import (
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// Globals of C++ are made once in an instance, and what its initialization has read stays.
func TestGlobalsOfCXX(t *testing.T) {
	g := newGuest(t, testwasm.CXX(t, "c/globals.cpp"))
	if len(g.log.said) != 1 {
		t.Errorf("the start of an instance logs %q", g.log.said)
	}
	for _, reason := range []string{`["hello",1,null]`, `["hello",2,null]`} {
		g.run(t, &vector{Payload: `{"a":"a payload that is longer than what was there"}`, Want: dead(reason)})
	}
}
