package forms_test

import (
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// timeTypes are the types that the lease column can have.
var timeTypes = map[string][]string{
	"postgres": {"timestamptz", "timestamp", "timestamptz(0)", "timestamptz(1)", "timestamp(3)", "timestamp(0)"},
	"mariadb":  {"datetime", "datetime(1)", "datetime(3)", "datetime(6)", "timestamp NULL", "timestamp(6) NULL"},
	"sqlite":   {"TEXT", "DATETIME", "TIMESTAMP", "VARCHAR(30)", "DATE"},
}

// TestToken goes through every type of lease column and back, in sessions whose defaults are far
// from UTC and from ISO (delayed_job_active_record#95, mission_control-jobs#215, pgqueuer#807).
func TestToken(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		abroad(t, db)
		for _, typeName := range timeTypes[db.Name] {
			for _, counted := range []bool{true, false} {
				name := typeName + " with an attempt"
				if !counted {
					name = typeName + " alone"
				}
				t.Run(name, func(t *testing.T) { checkToken(t, open(t, db), typeName, counted) })
			}
		}
	})
}

// abroad moves the database's default time zone and style of dates.
func abroad(t *testing.T, db testdb.Database) {
	t.Helper()
	s := open(t, db)
	switch db.Name {
	case "postgres":
		name := query(t, s, "SELECT quote_ident(current_database())")
		script(t, s, "ALTER DATABASE "+name+" SET timezone = 'Asia/Kathmandu'")
		script(t, s, "ALTER DATABASE "+name+" SET datestyle = 'SQL, DMY'")
		script(t, s, "ALTER DATABASE "+name+" SET intervalstyle = 'sql_standard'")
	case "mariadb":
		zone := query(t, s, "SELECT @@GLOBAL.time_zone")
		t.Cleanup(func() { query(t, s, "SET GLOBAL time_zone = '"+zone+"'") })
		script(t, s, "SET GLOBAL time_zone = '+05:45'")
	}
}

func checkToken(t *testing.T, s store.Store, typeName string, counted bool) {
	table := leased()
	if !counted {
		delete(table.Roles, dialect.Attempt)
	}
	createAs(t, s, table, map[string]string{"locked_until": typeName, "retry_after": strings.TrimSuffix(typeName, " NULL") + " NULL"})
	defer script(t, s, "DROP TABLE jobs")
	host := newClock()
	host.advance(123456789 * time.Nanosecond)
	l, other := lease(t, s, table, host.use), lease(t, s, table, host.use)
	fill(t, s, table, 5)
	deliveries := claim(t, l, 5)
	equal(t, "claim", payloads(deliveries), "1 2 3 4 5")

	// The lease lasts for 30 s and at most two more by which the expiry is rounded and drawn.
	host.advance(30*time.Second - time.Millisecond)
	equal(t, "before the end", payloads(claim(t, other, 5)), "")
	extend(t, l, forms.Done, deliveries...)
	host.advance(30*time.Second - time.Millisecond)
	equal(t, "before the end of the extension", payloads(claim(t, other, 5)), "")
	extend(t, l, forms.Done, deliveries...)
	extend(t, l, forms.Done, deliveries...)

	settle(t, l, forms.Done, finish(deliveries[0]), back(deliveries[1]),
		&forms.Settlement{Delivery: deliveries[2], Change: forms.MoveToGroup},
		&forms.Settlement{Delivery: deliveries[3], Change: forms.Return, Until: host.now().Add(10 * time.Second)})
	settle(t, l, forms.Lost, finish(deliveries[1]))
	equal(t, "what is due", payloads(claim(t, other, 5)), "2")
	host.advance(10*time.Second - time.Millisecond)
	equal(t, "before its time", payloads(claim(t, other, 5)), "")
	host.advance(1001 * time.Millisecond)
	equal(t, "at its time", payloads(claim(t, other, 5)), "4")
	host.advance(22 * time.Second)
	equal(t, "after the end of the extension", payloads(claim(t, other, 1)), "2")
	settle(t, l, forms.Lost, back(deliveries[1]))
	host.advance(10 * time.Second)
	equal(t, "after the end of all", payloads(claim(t, other, 5)), "5 4")
	extend(t, l, forms.Lost, deliveries[4])
	settle(t, l, forms.Lost, finish(deliveries[4]))
}

// TestTimesAreUTC in columns that keep no zone, whatever the server thinks.
func TestTimesAreUTC(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		abroad(t, db)
		s := open(t, db)
		plain := map[string]string{"postgres": "timestamp", "mariadb": "datetime(6)", "sqlite": "TEXT"}[db.Name]
		table := createAs(t, s, everyRole(), map[string]string{"locked_until": plain, "processed_at": plain, "retry_after": plain + " NULL"})
		host := newClock()
		l := lease(t, s, table, host.use)
		fill(t, s, table, 2)
		deliveries := claim(t, l, 2)
		settle(t, l, forms.Done, finish(deliveries[0]), &forms.Settlement{Delivery: deliveries[1], Change: forms.Return, Until: host.now()})
		now := host.now().UTC().Format("2006-01-02 15:04:05")
		got := strings.Split(columns(t, s, table, "processed_at", "retry_after"), "\n")
		if !strings.HasPrefix(got[0], now) || !strings.HasPrefix(got[1], "-|"+now) {
			t.Errorf("%q, want %s", got, now)
		}
	})
}

// TestSkew is far below a second on one machine, wherever the server believes to be.
func TestSkew(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		abroad(t, db)
		s := open(t, db)
		for ahead := range 2 {
			shift := time.Duration(ahead) * time.Hour
			skew, err := forms.Skew(t.Context(), s, func() time.Time { return time.Now().Add(shift) })
			if err != nil {
				t.Fatal(err)
			}
			if off := skew + shift; off < -time.Second || off > time.Second {
				t.Errorf("skew %v of a host that is %v ahead", skew, shift)
			}
		}
	})
}
