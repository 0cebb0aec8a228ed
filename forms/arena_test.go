package forms

import (
	"bytes"
	"fmt"
	"testing"
)

// A row's key and texts are its own, whatever happens to those of the rows beside it.
func TestArenaKeepsRowsApart(t *testing.T) {
	for _, rows := range []int{0, 1, 3, maxPiece, 3*maxPiece + 1} {
		a := arena{rows: rows}
		var deliveries []*Delivery
		text := func(n int) []byte { return bytes.Repeat([]byte{byte('a' + n%26)}, n*37%(2*maxShared)) }
		for n := range rows + 2 { // a database may answer more than was expected
			d := a.delivery(2)
			d.ID[0], d.ID[1] = int64(n), fmt.Sprint(n)
			d.Payload, d.Headers = a.clone(text(n)), a.clone(nil)
			deliveries = append(deliveries, d)
		}
		for _, d := range deliveries {
			_ = append(d.Payload, "more"...)
			_ = append(d.ID, "more")
		}
		for n, d := range deliveries {
			if d.ID[0] != int64(n) || d.ID[1] != fmt.Sprint(n) || len(d.ID) != 2 {
				t.Errorf("of %d rows, row %d has the key %v", rows, n, d.ID)
			}
			if !bytes.Equal(d.Payload, text(n)) || d.Payload == nil || d.Headers != nil {
				t.Errorf("of %d rows, row %d has the payload %.10q and the headers %q", rows, n, d.Payload, d.Headers)
			}
		}
	}
}

// The rows of a claim share their allocations.
func TestArenaSharesAllocations(t *testing.T) {
	const rows = 512
	text := make([]byte, 100)
	n := testing.AllocsPerRun(10, func() {
		a := arena{rows: rows}
		for range rows {
			d := a.delivery(1)
			d.Payload = a.clone(text)
		}
	})
	if n > rows/10 {
		t.Errorf("%d rows take %.0f allocations", rows, n)
	}
}
