package config

import (
	"strings"
	"testing"
)

// good is a file without a problem, on Postgres, that the tests put a mistake into.
const good = `[database]
url = "postgres://app:pw@db/inbox"
[tables.jobs]
id = "id"
group = "grp"
attempt = "attempt"
retry_after = "due"
partition_key = "customer"
locked_until = "until"
payload = "body"
[tables.dead]
id = "id"
payload = "body"
locked_until = "until"
[handlers.a]
module = "a.wasm"
table = "jobs"
`

// after returns the good file with lines put in behind the one that starts with mark.
func after(mark, lines string) string {
	before, rest, found := strings.Cut(good, mark)
	if !found {
		panic(mark)
	}
	line, rest, _ := strings.Cut(rest, "\n")
	return before + mark + line + "\n" + lines + "\n" + rest
}

func TestGoodFile(t *testing.T) {
	if _, err := Parse("inbox.toml", []byte(good), env()); err != nil {
		t.Fatal(err)
	}
}

func TestProblems(t *testing.T) {
	sqlite := strings.Replace(good, "postgres://app:pw@db/inbox", "sqlite:inbox.db", 1)
	without := func(line string) string { return strings.Replace(good, line+"\n", "\n", 1) }
	inHandler := func(lines string) string { return good + lines + "\n" }
	inTable := func(lines string) string { return after(`payload = "body"`, lines) }
	second := func(lines string) string { return good + "[handlers.b]\nmodule = \"b.wasm\"\n" + lines + "\n" }

	for _, test := range []struct{ name, file, want string }{
		{"no database", "[runtime]\nlog = \"json\"\n", `inbox.toml: database.url: is required`},
		{"no url", without(`url = "postgres://app:pw@db/inbox"`), `inbox.toml:1: database.url: is required`},
		{"empty url", strings.Replace(good, "postgres://app:pw@db/inbox", "", 1), `:2: database.url: must not be empty`},
		{"driver's own string", strings.Replace(good, "postgres://app:pw@db/inbox", "app:pw@tcp(db)/inbox", 1), `:2: database.url: is no URL`},
		{"another database", strings.Replace(good, "postgres://", "sqlserver://", 1), `:2: database.url: names a database that is not supported; start the URL with postgres://`},
		{"scheme without slashes", strings.Replace(good, "postgres://", "postgres:", 1), `:2: database.url: lacks the //`},
		{"password that is not encoded", strings.Replace(good, "app:pw@", "app:p[w@", 1), `:2: database.url: is no valid URL; percent-encode`},
		{"several statements", strings.Replace(good, "postgres://app:pw@db/inbox", "mysql://db/x?multistatements=true", 1), `:2: database.url: sets multiStatements`},
		{"reading local files", strings.Replace(good, "postgres://app:pw@db/inbox", "mysql://db/x?allowAllFiles=true", 1), `:2: database.url: sets allowAllFiles`},
		{"no database in the URL", strings.Replace(good, "postgres://app:pw@db/inbox", "mysql://db/", 1), `:2: database.url: names no database; end it in /NAME`},
		{"a queue in memory", strings.Replace(good, "postgres://app:pw@db/inbox", "sqlite::memory:", 1), `:2: database.url: names no file, and a queue in memory`},
		{"parameters of SQLite", strings.Replace(good, "postgres://app:pw@db/inbox", "sqlite:a.db?mode=ro", 1), `:2: database.url: has parameters`},
		{"pool above the limit", after("url", "max_connections = 65"), `:3: database.max_connections: the pool's 65 are more than all connections together may be, 64`},
		{"two kinds of database", after("url", `handler_url = "mysql://db/x"`), `:3: database.handler_url: names another kind`},
		{"connections", after("url", "connection_limit = 20") + "threads = 5\nallow.db = \"pool\"\n", `:3: database.connection_limit: is below the connections that may be open at once: 16 of the pool + 5 × 1 of handlers.a`},

		{"listening to everyone", good + "[runtime]\nlisten_http = \":9464\"\n", `:19: runtime.listen_http: is reached from other machines without a token`},
		{"names without a token", good + "[runtime]\nlisten_http = \"127.0.0.1:9464\"\nhttp_hosts = [\"queue.example.com\"]\n", `:20: runtime.http_hosts: lets requests in from other machines without a token`},
		{"no port", good + "[runtime]\nlisten_http = \"localhost\"\n", `:19: runtime.listen_http: "localhost" is no address`},
		{"a URL to listen on", good + "[runtime]\nlisten_http = \"http://[::1]:1\"\n", `:19: runtime.listen_http: "http://[::1]:1" is no address`},
		{"a name that is none", good + "[runtime]\nhttp_hosts = [\"a.example\", \"a.example:80\"]\n", `:19: runtime.http_hosts[1]: "a.example:80" is no name of a host`},
		{"short token", good + "[runtime]\nlisten_http = \":9464\"\nhttp_token = \"fifteen-letters\"\n", `:20: runtime.http_token: must be at least 16 visible ASCII characters`},
		{"token with a space", good + "[runtime]\nhttp_token = \"a token of more words\"\n", `:19: runtime.http_token: must be at least 16 visible`},

		{"section in the singular", good + "[handler.b]\nmodule = \"b\"\n", `:18: handler: unknown key; did you mean "handlers"?`},
		{"key of another section", inTable(`lease = "30s"`), `:11: tables.jobs.lease: unknown key; it is a key of [handlers.NAME] and [defaults]`},
		{"nothing near", good + "zzzzzzzzzzzz = 1\n", `:18: handlers.a.zzzzzzzzzzzz: unknown key; known here: module, table, group`},
		{"schema in the key", good + "[tables.app.mail]\nid = \"id\"\n", `:18: tables.app.mail: unknown key; a table of a schema is [tables.mail] with schema = ".."`},
		{"schema in the name", inTable(`name = "app.jobs"`), `:11: tables.jobs.name: holds a dot and the table has no schema`},
		{"text for a table", "database = 5\n", `:1: database: must be a table, not a whole number`},
		{"unknown key in an inline table", inHandler("backoff = { initial = \"1s\",\n  initail = \"2s\" }"), `:19: handlers.a.backoff.initail: unknown key; did you mean "initial"?`},

		{"no id", without(`id = "id"`), `:3: tables.jobs.id: is required`},
		{"empty id", inTable("priority = \"\""), `:11: tables.jobs.priority: must not be empty`},
		{"column of two roles", inTable(`error = "id"`), `:11: tables.jobs.error: column "id" plays the role id already`},
		{"id twice", strings.Replace(good, `id = "id"`, `id = ["id", "id"]`, 1), `:4: tables.jobs.id[1]: names "id" twice`},
		{"both forms", inTable(`advisory_lock = "jobs-{id}"`), `:11: tables.jobs.advisory_lock: excludes locked_until`},
		{"key without a column", inTable(`advisory_lock = "jobs-id"`), `:11: tables.jobs.advisory_lock: "jobs-id" names no column`},
		{"lock alone", strings.Replace(good, `locked_until = "until"`, "advisory_lock = \"a-{id}\"\nlock = \"SELECT 1\"", 1), `:10: tables.jobs.lock: stands without unlock`},
		{"lock in the lease form", inTable(`unlock = "SELECT 1"`), `:11: tables.jobs.unlock: is for the advisory form`},
		{"fifo without a group", after("id = \"id\"\npayload", "fifo = true"), `:14: tables.dead.fifo: orders the rows of a group`},
		{"fifo and advisory", strings.Replace(good, `locked_until = "until"`, "advisory_lock = \"a-{id}\"\nfifo = true", 1), `:10: tables.jobs.fifo: cannot go with advisory_lock, whose key keeps the order; remove fifo and put the group's column into the key`},
		{"the database's clock", inTable(`clock = "database"`), `:11: tables.jobs.clock: cannot be "database" with locked_until`},
		{"level that Postgres does not keep", inTable(`isolation = "read_uncommitted"`), `:11: tables.jobs.isolation: is a level that the database does not keep; write one of "read_committed", "repeatable_read", "serializable"`},
		{"level on SQLite", strings.Replace(sqlite, "payload", "isolation = \"serializable\"\npayload", 1), `:10: tables.jobs.isolation: is not a setting of SQLite`},
		{"mode on Postgres", inTable(`mode = "immediate"`), `:11: tables.jobs.mode: is a setting of SQLite`},
		{"row lock on SQLite", strings.Replace(sqlite, `locked_until = "until"`, "", 1), `:3: tables.jobs.locked_until: is missing: SQLite has no row locks; take the lease form with locked_until = "locked_until", or the advisory form`},
		{"columns and a payload", inTable(`columns = ["note"]`), `:11: tables.jobs.columns: is for row mode`},
		{"retain without processed_at", inTable(`retain = "24h"`), `:11: tables.jobs.retain: keeps finished rows, and the table deletes them`},
		{"one table twice", good + "[tables.again]\nname = \"jobs\"\nid = \"id\"\n", `:19: tables.again.name: the same table as tables.jobs (line 3)`},

		{"no module", without(`module = "a.wasm"`), `:15: handlers.a.module: is required`},
		{"no table", without(`table = "jobs"`), `:15: handlers.a.table: is required`},
		{"unknown table", strings.Replace(good, `table = "jobs"`, `table = "job"`, 1), `:17: handlers.a.table: "job" is not declared; did you mean "jobs"?`},
		{"name with a slash", good + "[handlers.\"x/y\"]\nmodule = \"x\"\ntable = \"dead\"\n", `:18: handlers."x/y": the handler's name holds more than`},
		{"group without the role", second("table = \"dead\"\ngroup = \"x\""), `:21: handlers.b.group: tables.dead has no group role`},
		{"two handlers of a group", second("table = \"jobs\"\ngroup = \"a\""), `:21: handlers.b.group: reads rows of tables.jobs that handlers.a (line 15) reads too`},
		{"a group and every group", second("table = \"jobs\"\ngroup = \"*\""), `:21: handlers.b.group: reads rows of tables.jobs that handlers.a`},
		{"batch from defaults", good + "[defaults]\nbatch = 2\ntransactional = true\n", `:20: handlers.a.transactional: cannot go with a batch: each delivery has a transaction of its own (set in [defaults])`},
		{"bad default", good + "[defaults]\ntimeout = \"soon\"\n", `:19: defaults.timeout: "soon" is no duration`},
		{"claim below batch", inHandler("batch = 10\nclaim = 5"), `:19: handlers.a.claim: is below batch`},
		{"batch with instances of their own", inHandler("batch = 10\ninstance = \"fresh\""), `:19: handlers.a.instance: cannot be "fresh" with a batch`},
		{"claim as text", inHandler(`claim = "5"`), `:18: handlers.a.claim: must be a whole number, not text`},
		{"row lock, claim and transactional", strings.Replace(good, "locked_until = \"until\"", "", 1) + "claim = 2\ntransactional = true\n", `:18: handlers.a.claim: above 1 cannot go with transactional in the row lock form`},
		{"transaction without one", inHandler(`allow.db = ["pool", "tx"]`), `:18: handlers.a.allow.db: "tx" is the delivery's transaction, and there is none`},
		{"by_key without a key", strings.Replace(good, `partition_key = "customer"`, "", 1) + "by_key = true\n", `:18: handlers.a.by_key: needs a key`},
		{"lease without the form", strings.Replace(good, `locked_until = "until"`, "", 1) + "lease = \"10s\"\n", `:18: handlers.a.lease: has no effect`},
		{"lease of nothing", inHandler(`lease = "0s"`), `:18: handlers.a.lease: "0s" is too short`},
		{"timeout of nothing", inHandler(`timeout = "0s"`), `:18: handlers.a.timeout: "0s" is too short; write a duration of 1ms or more`},
		{"number for a duration", inHandler("timeout = 30"), `:18: handlers.a.timeout: must be a duration, not a whole number; write a number and its unit as text: "30s"`},
		{"days", inHandler(`timeout = "7d"`), `:18: handlers.a.timeout: "7d" is no duration`},
		{"no threads", inHandler("threads = 0"), `:18: handlers.a.threads: 0 is out of range; write a number from 1 to 1024`},
		{"memory without its i", inHandler(`memory = "64MB"`), `:18: handlers.a.memory: "64MB" is no size; write "64MiB"`},
		{"memory below a page", inHandler("memory = 1"), `:18: handlers.a.memory: 1 is out of range`},
		{"payload above memory", inHandler(`max_payload = "65MiB"`), `:18: handlers.a.max_payload: is more than memory`},
		{"recycling that never comes", inHandler(`recycle_memory = "65MiB"`), `:18: handlers.a.recycle_memory: is more than memory`},
		{"cap without a target", inHandler("max_attempts = 5"), `:18: handlers.a.max_attempts: stands without dead_letter`},
		{"cap without attempts", strings.Replace(good, `attempt = "attempt"`, "", 1) + "max_attempts = 5\ndead_letter = \"failed\"\n", `:18: handlers.a.max_attempts: needs attempts to be counted, and tables.jobs has no attempt role`},
		{"target that is the group", inHandler(`dead_letter = "a"`), `:18: handlers.a.dead_letter: is the group that the rows come from`},
		{"target that is the table", inHandler(`dead_letter = "jobs"`), `:18: handlers.a.dead_letter: is the table that the rows come from`},
		{"target of every group", inHandler(`dead_letter = "*"`), `:18: handlers.a.dead_letter: cannot be every group`},
		{"target that is neither", second("table = \"dead\"\ndead_letter = \"job\""), `:21: handlers.b.dead_letter: "job" is no declared table, and tables.dead has no group role that a group of this name could be in; did you mean "jobs"?`},
		{"policy without a target", inHandler(`on_failure = { trap = "dead_letter" }`), `:18: handlers.a.on_failure.trap: has no dead letter target to move to`},
		{"delay without the role", strings.Replace(good, `retry_after = "due"`, "", 1) + "on_failure.trap = \"retry_after:1s\"\n", `:18: handlers.a.on_failure.trap: gives a delay, and tables.jobs has no retry_after role`},
		{"delay of a drop", inHandler(`on_failure.trap = "drop:1s"`), `:18: handlers.a.on_failure.trap: "drop:1s" gives a delay to an action that takes none`},
		{"no policy", inHandler(`on_failure.trap = "ignore"`), `:18: handlers.a.on_failure.trap: "ignore" is no policy`},
		{"backoff upside down", inHandler(`backoff = { initial = "1h" }`), `:18: handlers.a.backoff.max: is shorter than initial`},
		{"backoff that shrinks", inHandler(`backoff.factor = 0.5`), `:18: handlers.a.backoff.factor: 0.5 is out of range`},
		{"no number", inHandler(`backoff.factor = nan`), `:18: handlers.a.backoff.factor: NaN is out of range`},
		{"listening on SQLite", sqlite + "listen = true\n", `:18: handlers.a.listen: is for Postgres`},
		{"a role on SQLite", sqlite + "transaction_role = \"x\"\n", `:18: handlers.a.transaction_role: is for Postgres`},
		{"a circle", inHandler(`dead_letter = "b"`) + "[handlers.b]\nmodule = \"b\"\ntable = \"jobs\"\ndead_letter = \"a\"\n", `:18: handlers.a.dead_letter: sends a failing row round for ever: handlers.a, handlers.b, handlers.a`},
		{"target of two tables", inHandler(`dead_letter = "dead"`) + "[tables.more]\nid = \"id\"\n[handlers.b]\nmodule = \"b\"\ntable = \"more\"\ndead_letter = \"dead\"\n", `:24: handlers.b.dead_letter: tables.dead takes the dead letters of tables.jobs already (handlers.a, line 15)`},

		{"publish to nothing", inHandler(`allow.publish = ["deed"]`), `:18: handlers.a.allow.publish[0]: "deed" is not declared; did you mean "dead"?`},
		{"http with a path", inHandler("allow.http = [\n  \"https://a.example\",\n  \"https://a.example/v1\"]"), `:20: handlers.a.allow.http[1]: holds more than an origin`},
		{"http with a password", inHandler(`allow.http = ["https://u:pw@a.example"]`), `:18: handlers.a.allow.http[0]: holds a user or a password`},
		{"http with a wildcard", inHandler(`allow.http = ["https://*.example"]`), `:18: handlers.a.allow.http[0]: holds a wildcard`},
		{"private http", inHandler(`allow.http = ["http://localhost:80"]`), `:18: handlers.a.allow.http[0]: is a private address; write { url = "..", private = true }`},
		{"carrier-grade http", inHandler(`allow.http = [{ url = "http://[::ffff:100.64.0.1]" }]`), `:18: handlers.a.allow.http[0].url: is a private address`},
		{"http without a url", inHandler("[[handlers.a.allow.http]]\nprivate = true"), `:18: handlers.a.allow.http[0].url: is required`},
		{"variable with its value", inHandler(`allow.env = ["TZ=UTC"]`), `:18: handlers.a.allow.env[0]: "TZ=UTC" is no variable's name`},
		{"mount of the configuration", inHandler(`allow.files = [{ host = ".", guest = "/x" }]`), `:18: handlers.a.allow.files: mount 1 overlaps the cache`},
		{"mount of a module", inHandler(`allow.files = [{ host = "a.wasm", guest = "/x" }]`), `:18: handlers.a.allow.files: mount 1 overlaps the module of handlers.a`},
		{"mount of the database", sqlite + "allow.files = [{ host = \"inbox.db\", guest = \"/x\" }]\n", `:18: handlers.a.allow.files: mount 1 overlaps the database`},
		{"mount at a relative path", inHandler(`allow.files = [{ host = "x", guest = "x" }]`), `:18: handlers.a.allow.files[0].guest: "x" is not a clean absolute path`},
		{"mount of nothing", inHandler(`allow.files = [{ guest = "/x" }]`), `:18: handlers.a.allow.files[0].host: is required`},
		{"structure in config", inHandler("[handlers.a.config]\nlist = [1]"), `:19: handlers.a.config.list: must be text, a number or true or false, not an array`},

		{"variable that is not set", inHandler(`group = "x-${NOPE}"`), `:18: handlers.a.group: needs the variable NOPE, which is not set; set it, or write ${NOPE:-default}`},
		{"file that is not there", inHandler(`group = "${file:/nope}"`), `:18: handlers.a.group: needs the file "/nope": no such file or directory`},
		{"directory for a file", inHandler(`group = "${file:.}"`), `:18: handlers.a.group: needs the file ".": not a regular file`},
		{"open expansion", inHandler(`group = "${X"`), `:18: handlers.a.group: holds "${" without its "}"`},
		{"no variable's name", inHandler(`group = "${X-1}"`), `:18: handlers.a.group: holds "${X-1}", which names no variable`},
		{"number from a variable", inHandler(`threads = "${TEXT}"`), `:18: handlers.a.threads: the value of ${TEXT} is no whole number`},
		{"switch from a variable", inHandler(`by_key = "${TEXT}"`), `:18: handlers.a.by_key: the value of ${TEXT} is neither true nor false`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, problems := specified(t, "inbox.toml", test.file, env("TEXT", "s3cr3t"))
			if !strings.Contains("\n"+problems.Error(), strings.TrimPrefix(test.want, "inbox.toml")) {
				t.Errorf("got\n%v\nwant\n%s", problems, test.want)
			}
			if strings.Contains(problems.Error(), "s3cr3t") {
				t.Errorf("an expanded value is quoted:\n%v", problems)
			}
		})
	}
}

func TestAllowedTogether(t *testing.T) {
	for name, lines := range map[string]string{
		"dead_letter without max_attempts":        "dead_letter = \"failed\"\n",
		"dead_letter to a table":                  "dead_letter = \"dead\"\nmax_attempts = 3\n",
		"every group beside a dead letter reader": "group = \"*\"\ndead_letter = \"failed\"\n[handlers.b]\nmodule = \"b\"\ntable = \"jobs\"\ngroup = \"failed\"\n",
		"defaults spelled out":                    "batch = 1\nconnections = 1\ntransaction_role = \"\"\ndead_letter = \"\"\nmax_attempts = 0\n[handlers.a.allow]\n",
		"what the host does":                      "instance = \"fresh\"\nrecycle_after = 10\nrecycle_memory = 0\nmax_payload = 10\n",
		"numbers from variables":                  "threads = \"${N:-4}\"\nrecycle_memory = \"${SIZE:-1MiB}\"\nby_key = \"${B:-false}\"\nbackoff.factor = \"${F:-1.5}\"\n",
		"a default without a target taken back":   "dead_letter = \"\"\n[defaults]\ndead_letter = \"failed\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("inbox.toml", []byte(good+lines), env()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestProblemError(t *testing.T) {
	for want, problem := range map[string]Problem{
		`inbox.toml:12: handlers.a.timeuot: unknown key; did you mean "timeout"?`: {"inbox.toml", 12, "handlers.a.timeuot", "unknown key", `did you mean "timeout"?`},
		`inbox.toml:3: not TOML`: {File: "inbox.toml", Line: 3, What: "not TOML"},
		`inbox.toml: too large`:  {File: "inbox.toml", What: "too large"},
	} {
		if got := problem.Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
