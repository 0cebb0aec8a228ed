package forms_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// TestPayload goes into every type of column and comes back as it was, and so it does after a move to
// another table (firecrawl#4113: NUL bytes crash the loop).
func TestPayload(t *testing.T) {
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	raw := [][]byte{{}, {0}, []byte("a\x00b"), {0xff, 0xfe, 0xc3}, everyByte, []byte(`\x00 \\ ' " $1 ?`), []byte("ü🦀")}
	text := [][]byte{{}, []byte(" "), []byte(`it's "\n" \ $1 ? %s`), []byte("ü🦀\n\t")}
	json := [][]byte{[]byte(`{"a": [1, 2.5, "ü🦀"]}`), []byte(`"text"`), []byte("null"), []byte("[]")}
	types := map[string]map[string][][]byte{
		"postgres": {"bytea": raw, "text": text, "varchar(40)": text, "json": json, "jsonb": json},
		"mariadb":  {"longblob": raw, "blob": raw, "varbinary(300)": raw, "longtext": text, "varchar(40)": text, "json": json},
		"sqlite":   {"BLOB": raw, "TEXT": append(text, []byte("a\x00b")), "JSON": json},
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		for typeName, payloads := range types[db.Name] {
			t.Run(typeName, func(t *testing.T) {
				table := leased()
				table.Name = "jobs " + typeName
				createAs(t, s, table, map[string]string{"payload": typeName})
				target := &dialect.Table{Name: "dead " + typeName, ID: table.ID, Roles: table.Roles}
				createAs(t, s, target, map[string]string{"payload": typeName})
				l, graveyard := lease(t, s, table, deadTable(target)), lease(t, s, target)
				for _, payload := range payloads {
					write(t, s, table, forms.Message{Group: "g", Payload: payload})
				}
				insert(t, s, table, "group payload", "('g', NULL)")
				payloads := append(payloads, nil)
				deliveries := claim(t, l, 100)
				if len(deliveries) != len(payloads) {
					t.Fatalf("claimed %d rows of %d", len(deliveries), len(payloads))
				}
				for i, d := range deliveries {
					same(t, d.Payload, payloads[i])
				}
				settle(t, l, forms.Done, settlements(deliveries, toTable)...)
				for i, d := range claim(t, graveyard, 100) {
					same(t, d.Payload, payloads[i])
				}
			})
		}
	})
}

func same(t *testing.T, got, want []byte) {
	t.Helper()
	if (got == nil) != (want == nil) || !bytes.Equal(got, want) {
		t.Errorf("got %#q (nil: %v), want %#q", got, got == nil, want)
	}
}

// TestPayloadOf16MiB is written, claimed, moved and claimed again.
func TestPayloadOf16MiB(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		if db.Name == "mariadb" {
			// Its default takes 16 MiB with the statement around it.
			s := open(t, db)
			size := query(t, s, "SELECT @@GLOBAL.max_allowed_packet")
			t.Cleanup(func() { query(t, s, "SET GLOBAL max_allowed_packet = "+size) })
			script(t, s, "SET GLOBAL max_allowed_packet = 67108864")
		}
		s := open(t, db)
		table := create(t, s, leased())
		target := dead(t, s, table)
		l, graveyard := lease(t, s, table, deadTable(target)), lease(t, s, target)
		payload := bytes.Repeat([]byte("sixteen bytes: \xff"), 1<<20)
		copy(payload, "\x00'\\")
		write(t, s, table, forms.Message{Group: "g", Payload: payload})
		d := claimOne(t, l)
		if !bytes.Equal(d.Payload, payload) {
			t.Error("the payload differs")
		}
		settle(t, l, forms.Done, toTable(d))
		if d := claimOne(t, graveyard); !bytes.Equal(d.Payload, payload) {
			t.Error("the dead letter's payload differs")
		}
	})
}

// TestHeaders come back as JSON from every type of column, and nil where there are none.
func TestHeaders(t *testing.T) {
	types := map[string][]string{
		"postgres": {"jsonb", "json", "text"},
		"mariadb":  {"json", "longtext", "varchar(200)"},
		"sqlite":   {"TEXT", "JSON"},
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		for _, typeName := range types[db.Name] {
			t.Run(typeName, func(t *testing.T) {
				table := leased()
				table.Name = "jobs " + typeName
				createAs(t, s, table, map[string]string{"headers": typeName})
				l := lease(t, s, table)
				headers := []string{`{"a": "it's \"ü🦀\""}`, `{}`, ""}
				for _, h := range headers {
					m := forms.Message{Group: "g", Payload: []byte("p")}
					if h != "" {
						m.Headers = []byte(h)
					}
					write(t, s, table, m)
				}
				for i, d := range claim(t, l, 3) {
					equal(t, "headers", string(d.Headers), headers[i])
					if headers[i] == "" && d.Headers != nil {
						t.Error("no headers are not nil")
					}
				}
			})
		}
	})
}

// TestPayloadInEveryMode of pgx that its URL can choose, as poolers ask for.
func TestPayloadInEveryModeOfPostgres(t *testing.T) {
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			url := testdb.Postgres(t)
			name := url[strings.LastIndex(url, "/")+1:]
			name, _, _ = strings.Cut(name, "?")
			s := open(t, testdb.Database{Name: "postgres", URL: url + "&default_query_exec_mode=" + mode})
			for _, output := range []string{"hex", "escape"} {
				script(t, s, "ALTER DATABASE "+name+" SET bytea_output = '"+output+"'")
				s := open(t, testdb.Database{Name: "postgres", URL: url + "&default_query_exec_mode=" + mode})
				table := &dialect.Table{Name: "jobs " + output, ID: []string{"id"}, Roles: leased().Roles}
				createAs(t, s, table, map[string]string{"id": "bytea PRIMARY KEY DEFAULT '\\x00ff27'"})
				target := &dialect.Table{Name: "dead " + output, ID: table.ID, Roles: table.Roles}
				createAs(t, s, target, map[string]string{"id": "bytea PRIMARY KEY"})
				l := lease(t, s, table, deadTable(target))
				write(t, s, table, forms.Message{Group: "g", Payload: []byte("\x00\xff\\'"), Headers: []byte(`{"a": 1}`)})
				d := claimOne(t, l)
				same(t, d.Payload, []byte("\x00\xff\\'"))
				equal(t, "id", d.ID.String(), "00ff27")
				extend(t, l, forms.Done, d)
				settle(t, l, forms.Done, back(d))
				d = attempt(t, l, 2)
				settle(t, l, forms.Done, toGroup(d))
				settle(t, l, forms.Lost, toTable(d))
				script(t, s, `UPDATE "`+table.Name+`" SET "group" = 'g'`)
				settle(t, l, forms.Done, toTable(attempt(t, l, 2)))
				if _, err := l.Waiting(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
