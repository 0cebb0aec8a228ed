// Package model holds small specifications of how each form settles rows, and searches every state that they can reach:
// two processes, two rows or two keys, statements that arrive late or whose answers are lost, and crashes anywhere. It has
// tests alone. What it knows of the forms it says again in a few lines; that the code does the same is shown by the tests
// of forms and host, and by those that kill processes.
package model
