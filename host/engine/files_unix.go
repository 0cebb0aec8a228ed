//go:build unix

package engine

import "syscall"

// nonblock has a pipe that nobody writes to open at once.
const nonblock = syscall.O_NONBLOCK
