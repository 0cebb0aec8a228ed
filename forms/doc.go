// Package forms is how a row is held: the protocol by which a delivery takes a row of a user's table,
// keeps it while its handler runs, and settles it, in each form that a table can have.
//
// A form runs the statements of a dialect over a store. It knows no database by name and no
// WebAssembly.
package forms
