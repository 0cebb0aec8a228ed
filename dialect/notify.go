package dialect

// Notifies is a dialect whose database can tell other sessions that a row was written.
type Notifies interface {
	Dialect
	// Channel is where the rows of a table are announced.
	Channel(t *Table) string
	// Notify announces rows of the group GroupName when its transaction commits. An empty group
	// stands for any.
	Notify(t *Table) Statement
	// Trigger creates a trigger that announces each inserted row.
	Trigger(t *Table) string
}
