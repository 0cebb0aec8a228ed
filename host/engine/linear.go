package engine

import "github.com/tetratelabs/wazero/experimental"

// linearMemory is one instance's memory. Owning it keeps the handler's limit out of the compiled code, which
// handlers with different limits share, and tells when the limit refused a growth: the guest may have
// carried on in whatever way it does without memory, so that the instance is replaced.
type linearMemory struct {
	buf     []byte
	limit   uint64
	refused bool
	most    int64
}

// Allocate implements experimental.MemoryAllocator.
func (m *linearMemory) Allocate(capacity, _ uint64) experimental.LinearMemory {
	m.buf = make([]byte, 0, min(capacity, m.limit))
	return m
}

// Reallocate implements experimental.LinearMemory; nil makes memory.grow answer -1.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	if size > uint64(cap(m.buf)) {
		// Room for as much again saves copies, and is not touched before the guest does.
		grown := make([]byte, size, min(m.limit, max(size, 2*uint64(len(m.buf)))))
		copy(grown, m.buf)
		m.buf = grown
	}
	m.buf = m.buf[:size]
	m.most = int64(size)
	return m.buf
}

// Free implements experimental.LinearMemory.
func (m *linearMemory) Free() { m.buf = nil }

// peak is the most that the instance had, also where an exit has freed it: a memory does not shrink.
func (m *linearMemory) peak() int64 { return m.most }

func (m *linearMemory) size() int64 { return int64(len(m.buf)) }
