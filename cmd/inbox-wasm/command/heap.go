package command

import "runtime"

// heapFloor is how large the collector believes the heap to be at least, in bytes.
const heapFloor = 64 << 20

// calmCollector has the collector run once for each heapFloor of garbage at most. The heap of a host is small, so that it
// would run hundreds of times a second in a full drain, and each time wait for the guests, which cannot be preempted.
// What stands in for a larger heap is never written to, and takes no memory. It lasts until release is called.
func calmCollector() (release func()) {
	floor := make([]byte, heapFloor)
	return func() { runtime.KeepAlive(floor) }
}
