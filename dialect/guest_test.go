package dialect_test

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/mysql"
	"github.com/inbox-wasm/inbox-wasm/dialect/postgres"
	"github.com/inbox-wasm/inbox-wasm/dialect/sqlite"
)

// guests are the rules of each database.
var guests = map[string]*dialect.GuestRules{
	"postgres": postgres.Dialect{}.GuestRules(),
	"mysql":    mysql.New().GuestRules(),
	"sqlite":   sqlite.New().GuestRules(),
}

func TestGuestsMayRun(t *testing.T) {
	for _, c := range []struct {
		on, sql, verb string
		returns       bool
		marks         int
	}{
		{"postgres mysql sqlite", "SELECT 1", "SELECT", false, 0},
		{"postgres mysql sqlite", " \n-- a comment; COMMIT\n/* COMMIT; */ insert INTO t VALUES ('a;''COMMIT') ; \n-- end", "INSERT", false, 0},
		{"postgres mysql sqlite", "((SELECT 1) UNION SELECT 2)", "SELECT", false, 0},
		{"postgres mysql sqlite", "WITH x AS (SELECT 1) DELETE FROM t RETURNING id", "WITH", true, 0},
		{"mysql sqlite", "UPDATE t SET a = ?, b = '?', c = \"?\", d = `?` -- ?\n WHERE e = ?", "UPDATE", false, 2},
		{"mysql", `SELECT 'it\'s; ?', "a"";" # ; ?` + "\n, 1--2", "SELECT", false, 0},
		{"mysql", "SELECT @@version, @@SESSION.sql_mode, 'a@b'", "SELECT", false, 0},
		{"sqlite", "SELECT [a;b], `c;d`, \"e;f\"", "SELECT", false, 0},
		{"postgres", "SELECT $$a;b$$, $x$ ; $$ ; $x$, $1, $2, a$b FROM t", "SELECT", false, 0},
		{"postgres", `SELECT E'it\'s; ''' /* a /* nested; */ one; */`, "SELECT", false, 0},
		{"postgres", "SELECT 'set_config'", "SELECT", false, 0},
		{"postgres", "SELECT E'a' -- it's continued\n'\\', set_config'", "SELECT", false, 0},
		{"postgres", "CREATE TABLE t (id int)", "CREATE", false, 0},
		{"postgres", "SELECT pg_advisory_xact_lock(1)", "SELECT", false, 0},
	} {
		for name := range strings.FieldsSeq(c.on) {
			s, err := guests[name].Check(c.sql)
			if err != nil || s.Verb != c.verb || s.Returns != c.returns || s.Marks != c.marks {
				t.Errorf("%s: %s: %+v, %v", name, c.sql, s, err)
			}
		}
	}
}

func TestGuestsMayNotRun(t *testing.T) {
	for _, c := range []struct{ on, sql, why string }{
		{"postgres mysql sqlite", "", "empty"},
		{"postgres mysql sqlite", " -- nothing", "empty"},
		{"postgres mysql sqlite", ";", "empty"},
		{"postgres mysql sqlite", "COMMIT", "starts with COMMIT"},
		{"postgres mysql sqlite", "/* a */ roLLback", "starts with ROLLBACK"},
		{"postgres mysql sqlite", "(COMMIT)", "starts with COMMIT"},
		{"postgres mysql sqlite", "BEGIN", "starts with BEGIN"},
		{"postgres mysql sqlite", "END", "starts with END"},
		{"postgres mysql sqlite", "START TRANSACTION", "starts with START"},
		{"postgres mysql sqlite", "SAVEPOINT a", "starts with SAVEPOINT"},
		{"postgres mysql sqlite", "RELEASE a", "starts with RELEASE"},
		{"postgres mysql sqlite", "PREPARE TRANSACTION 'a'", "starts with PREPARE"},
		{"postgres mysql sqlite", "SET ROLE postgres", "starts with SET"},
		{"postgres mysql sqlite", "EXECUTE a", "starts with EXECUTE"},
		{"postgres mysql sqlite", "DISCARD ALL", "starts with DISCARD"},
		{"postgres mysql sqlite", "'SELECT'", "starts with"},
		{"postgres mysql sqlite", "SELECT 1; COMMIT", "one statement"},
		{"postgres mysql sqlite", "SELECT 1;; COMMIT", "one statement"},
		{"postgres mysql sqlite", "SELECT '1", "does not end"},
		{"postgres mysql", "SELECT 1 /* COMMIT", "does not end"},
		{"postgres mysql sqlite", "SELECT 1\x00; COMMIT", "NUL"},
		{"postgres mysql sqlite", "SELECT '\x00'", "NUL"},
		{"postgres", "DO $$BEGIN END$$", "starts with DO"},
		{"postgres", "SELECT pg_advisory_unlock_all()", "pg_advisory_unlock_all"},
		{"postgres", `SELECT pg_catalog."pg_advisory_unlock_all"()`, "pg_advisory_unlock_all"},
		{"postgres", "SELECT PG_Advisory_Unlock/**/(1)", "pg_advisory_unlock"},
		{"postgres", `SELECT U&"pg\005fadvisory_unlock_all"()`, "U&"},
		{"postgres", "SELECT set_config('role', 'none', true)", "set_config"},
		{"postgres", `SELECT '\'; COMMIT --'`, "one statement"},
		{"postgres", "SELECT $x$ a", "does not end"},
		{"postgres", "SELECT E'a'\n'\\'', pg_advisory_unlock_all() --'", "pg_advisory_unlock_all"},
		{"postgres", "SELECT 1 -- \r, pg_advisory_unlock_all()", "pg_advisory_unlock_all"},
		{"mysql", "SELECT @a := 1", "@name"},
		{"mysql", "SELECT 1 INTO @`a`", "@name"},
		{"mysql", "SELECT 1 --\x7f'\n, release_all_locks() --\x7f'", "release_all_locks"},
		{"mysql", "SELECT `release_all_locks`()", "release_all_locks"},
		{"mysql", "SELECT GET_LOCK('a', 0)", "get_lock"},
		{"mysql", "SELECT 1 /*! ; COMMIT */", "the server runs"},
		{"mysql", "SELECT 1 /*M!100000 + 1 */", "the server runs"},
		{"mysql", "CREATE TABLE t (id int)", "starts with CREATE"},
		{"mysql", "CALL p()", "starts with CALL"},
		{"mysql", "TRUNCATE t", "starts with TRUNCATE"},
		{"mysql", "LOCK TABLES t WRITE", "starts with LOCK"},
		{"mysql", "SELECT 1 --\n; COMMIT", "one statement"},
		{"sqlite", "ATTACH 'a.db' AS a", "starts with ATTACH"},
		{"sqlite", "VACUUM INTO 'a.db'", "starts with VACUUM"},
		{"sqlite", "PRAGMA journal_mode = DELETE", "starts with PRAGMA"},
		{"sqlite", `SELECT E'\'; DELETE FROM t --'`, "one statement"},
	} {
		for name := range strings.FieldsSeq(c.on) {
			if s, err := guests[name].Check(c.sql); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %q: %+v, %v; want an error with %q", name, c.sql, s, err, c.why)
			}
		}
	}
}

func FuzzGuests(f *testing.F) {
	for _, sql := range []string{"SELECT 1", "SELECT $a$b$a$", "/*/**/*/SELECT E'\\''", "`a`[b]\"c\"'d'?;"} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		for name, rules := range guests {
			if s, err := rules.Check(sql); err == nil && s.Verb == "" {
				t.Errorf("%s: %q passes without a verb", name, sql)
			}
		}
	})
}
