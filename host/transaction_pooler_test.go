package host

import (
	"testing"
)

// A pooler that shares its sessions between transactions carries transactional deliveries: all that is theirs is
// in the transaction.
func TestTransactionalBehindAPooler(t *testing.T) {
	for name, form := range map[string]string{"lease": leaseForm, "row lock": ""} {
		t.Run(name, func(t *testing.T) {
			through, direct := pooled(t, "transaction", 0)
			b := openWriting(t, through, writingTables(form)+writer(t, "threads = 2\ntimeout = \"300ms\"\n"), untilEmpty)
			b.enqueue("jobs", "work", note("a", "kept"), note("R", "delayed"), note("t", "trapped"),
				note("a", "late")+"|SELECT pg_sleep(60)", "aSELECT nonsense|"+note("", "spoiled"))
			b.drain()
			equal(t, "notes", b.notes(), "kept\n")
			equal(t, "counts", b.counts("work"), Counts{Acked: 1, Delayed: 4})
			(&bench{Service: &Service{store: connect(t, direct)}, t: t}).idle(direct)
		})
	}
}
