// Command reactor is the smallest Go guest.
package main

//go:wasmexport inbox_handle
func handle() int32 { return 0 }

func main() {}
