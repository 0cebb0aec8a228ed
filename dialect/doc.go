// Package dialect is what a database says: the texts of every statement that the queue runs on it,
// built from the description of a user's table.
//
// It is pure text. Nothing here opens a connection, and a dialect is a value without state. A
// [Statement] names what each of its placeholders binds and what each of its columns answers, so
// that the forms (package forms) can run it on any store without knowing which database it is for.
//
// A database implements [Dialect], and one more interface for each form that it can hold rows in:
// [Lease], [RowLock] and [Advisory]. What else it can do has an interface each: groups that keep their
// order, isolation levels ([Leveled]), notifications ([Notifies]). A table that needs what the dialect
// lacks stops the start before the first claim. Nobody asks a dialect for its name: where databases
// differ, an interface has a method.
//
// Most of a dialect is a [Grammar], which writes what databases say alike, with a [Builder] that keeps
// placeholders and what they bind in step. A database that cannot answer which rows it changed takes
// [Listed] besides. docs/own-database.md says how to bring a database of your own, and examples/dialect
// has two that are complete.
package dialect
