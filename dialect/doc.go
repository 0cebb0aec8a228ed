// Package dialect is what a database says: the texts of every statement that the queue runs on it,
// built from the description of a user's table.
//
// It is pure text. Nothing here opens a connection, and a dialect is a value without state. A
// [Statement] names what each of its placeholders binds and what each of its columns answers, so
// that the forms (package forms) can run it on any store without knowing which database it is for.
//
// A database implements [Dialect], and one more interface for each form that it can hold rows in:
// [Lease]. A table in a form that the dialect lacks stops the start before the first claim. Nobody
// asks a dialect for its name: where databases differ, an interface has a method.
package dialect
