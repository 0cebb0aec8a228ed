package host

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/metrics"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// What waits is counted beside the scrapes, once somebody scrapes.
func TestQueuesAreSampled(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, declared string) {
		t.Parallel()
		b := open(t, db, declared+handler(t, "work", "jobs", "threads = 2"))
		b.enqueue("jobs", "else", "a", "b", "c")
		equal(t, "before the start", b.metric(metrics.QueueRows, "table=jobs", "group=else", "state=due"), -1)
		b.start()
		eventually(t, "the rows are counted", func() bool { return b.metric(metrics.QueueRows, "table=jobs", "group=else", "state=due") == 3 })
		equal(t, "delayed", b.metric(metrics.QueueRows, "table=jobs", "group=else", "state=delayed"), 0)
		if age := b.metric(metrics.QueueOldestAge, "table=jobs", "group=else"); age < 0 || age > 60 {
			t.Errorf("the oldest row is %v s old", age)
		}
	})
}

// A count takes a tenth of the time at most.
func TestSamplesTakeATenthOfTheTime(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: 10 * time.Second, time.Second: 9 * time.Second, 2 * time.Second: 18 * time.Second} {
		equal(t, "pause after "+took.String(), pauseAfter(took), want)
	}
}

// A row's group is any text, and there may be any number of them.
func TestSamplesHaveAsManyGroupsAsIsGoodForThem(t *testing.T) {
	empty, bad := "", "a\xff"
	stats := admin.TableStats{Table: "jobs", Groups: []admin.GroupStats{{Due: 1}, {Group: &empty, Due: 2}, {Group: &bad, Due: 4}}}
	for i := range 1000 {
		name := fmt.Sprint(i)
		stats.Groups = append(stats.Groups, admin.GroupStats{Group: &name, Due: 1})
	}
	queues := sampled(&stats, time.Now())
	var text []string
	sum := int64(0)
	for _, q := range queues {
		text = append(text, fmt.Sprintf("%s %d", q.group, q.rows[admin.Due]))
		sum += q.rows[admin.Due]
	}
	equal(t, "the first", strings.Join(text[:3], "|"), " 3|a\uFFFD 4|0 1")
	equal(t, "the last", text[len(text)-1], "(other groups) 802")
	equal(t, "their number", len(queues), 201)
	equal(t, "the sum", sum, 1007)
}
