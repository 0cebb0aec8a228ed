package postgres

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

var _ dialect.Notifies = Dialect{}

// maxPayload is the longest payload of a notification in a default server, in bytes (PostgreSQL
// documentation, NOTIFY: it must be shorter than 8000).
const maxPayload = "7999"

// Channel implements [dialect.Notifies]: the table's qualified name, or a hash where it is too long for
// a channel.
func (Dialect) Channel(t *dialect.Table) string {
	name := t.String()
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "inbox_" + hex.EncodeToString(sum[:16])
}

// Notify implements [dialect.Notifies].
func (d Dialect) Notify(t *dialect.Table) dialect.Statement {
	b := grammar.Builder()
	b.Add("SELECT pg_notify(", literal(d.Channel(t)), ", ", short(b.Bind(dialect.GroupName)+"::text"), ")")
	return b.Statement()
}

// short is a group as a payload: empty, which wakes everybody, where it is too long for one.
func short(group string) string {
	return "CASE WHEN octet_length(" + group + ") > " + maxPayload + " THEN '' ELSE COALESCE(" + group + ", '') END"
}

// Trigger implements [dialect.Notifies]. Equal notifications of one transaction are sent once.
func (d Dialect) Trigger(t *dialect.Table) string {
	group := "''"
	if t.Has(dialect.Group) {
		group = short("NEW." + quote(t.Roles[dialect.Group]) + "::text")
	}
	function := quote(fitName(t.Name + "_notify"))
	if t.Schema != "" {
		function = quote(t.Schema) + "." + function
	}
	return "CREATE FUNCTION " + function + "() RETURNS trigger LANGUAGE plpgsql AS $notify$\nBEGIN\n  PERFORM pg_notify(" +
		literal(d.Channel(t)) + ", " + group + ");\n  RETURN NULL;\nEND\n$notify$;\n\nCREATE TRIGGER " +
		quote(fitName(t.Name+"_notify")) + " AFTER INSERT ON " + grammar.Table(t) + " FOR EACH ROW EXECUTE FUNCTION " + function + "()"
}

// fitName is the name, or a hash where the server would cut it.
func fitName(name string) string {
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(name))
		return "inbox_notify_" + hex.EncodeToString(sum[:16])
	}
	return name
}
