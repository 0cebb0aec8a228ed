package forms

import (
	"strconv"
	"testing"
	"time"
)

// A process that has let more keys rest in its life than it remembers at a time still lets the next one rest.
func TestRestingForgetsWhatIsOver(t *testing.T) {
	var r resting
	now := time.Now()
	for i := range 2 * maxResting {
		r.add(strconv.Itoa(i), now.Add(time.Duration(i-2*maxResting)*time.Millisecond))
	}
	r.add("next", now.Add(time.Second))
	if !r.has("next", now) {
		t.Error("the next key does not rest")
	}
	if len(r.names) > maxResting {
		t.Errorf("%d keys are remembered, and %d is the most", len(r.names), maxResting)
	}
}

// A key that rests is let in early rather than one that would spin.
func TestRestingLetsTheShortestIn(t *testing.T) {
	var r resting
	now := time.Now()
	for i := range maxResting + 1 {
		r.add(strconv.Itoa(i), now.Add(time.Duration(i+1)*time.Second))
	}
	if last := strconv.Itoa(maxResting); !r.has(last, now) || r.has("0", now) {
		t.Error("the last key does not rest in the place of the first")
	}
	r.add("1", now.Add(time.Hour))
	if !r.has("1", now.Add(time.Minute*50)) {
		t.Error("a key that rests already does not rest longer")
	}
}
