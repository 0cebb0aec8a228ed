// Package web is the HTTP side of a service: its health, its metrics, what an operator sees and does, as JSON under /api/
// and as a page.
//
// A [Server] listens before there is a service, so that whoever asks whether it is ready has an answer while modules
// compile. Every request passes the [guard], which knows where it comes from and whom it may act for, and then one
// handler, which speaks to the service and to its tables.
package web
