package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// step is something that can happen in a state. A step that breaks a promise says which.
type step[S comparable] struct {
	name   string
	to     S
	broken string
}

// spec is a system: where it begins, what can happen in each state, and what must hold in all of them.
type spec[S comparable] struct {
	initial S
	steps   func(S) []step[S]
	holds   func(S) string // what does not hold; empty where all does
}

// search goes through every state that can be reached, nearest first. It gives the number of states and, where a promise is
// broken, the shortest way to it.
func search[S comparable](s spec[S]) (states int, broken string, way []string) {
	type origin struct {
		from S
		name string
	}
	seen := map[S]origin{s.initial: {}}
	queue := []S{s.initial}
	trace := func(at S, last string) []string {
		list := []string{last}
		for at != s.initial {
			o := seen[at]
			list = append(list, o.name)
			at = o.from
		}
		slices.Reverse(list)
		return list
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		for _, next := range s.steps(state) {
			if next.broken == "" {
				next.broken = s.holds(next.to)
			}
			if next.broken != "" {
				return len(seen), next.broken, trace(state, next.name)
			}
			if _, known := seen[next.to]; !known {
				seen[next.to] = origin{state, next.name}
				queue = append(queue, next.to)
			}
		}
	}
	return len(seen), "", nil
}

// keeps demands that no promise of a system is ever broken.
func keeps[S comparable](t *testing.T, s spec[S]) {
	t.Helper()
	states, broken, way := search(s)
	if broken != "" {
		t.Fatalf("%s, by:\n  %s", broken, strings.Join(way, "\n  "))
	}
	t.Logf("%d states", states)
}

// breaks demands that the search finds what a planted mistake leads to.
func breaks[S comparable](t *testing.T, s spec[S], want string) {
	t.Helper()
	states, broken, way := search(s)
	if !strings.Contains(broken, want) {
		t.Fatalf("in %d states the mistake led to %q, want %q", states, broken, want)
	}
	t.Logf("%s, by:\n  %s", broken, strings.Join(way, "\n  "))
}

func name(format string, args ...any) string { return fmt.Sprintf(format, args...) }
