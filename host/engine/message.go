package engine

import "time"

// Message is what one call of inbox_handle is about. The engine reads it during the call only, and changes
// nothing.
type Message struct {
	Subscription string
	Table        string
	Group        string
	ID           []byte // the id as JSON text; absent is null
	Attempt      int64  // 0 where the table counts none
	MaxAttempts  int64  // 0 where there is no cap
	PartitionKey string
	// HasPartitionKey tells an empty key from none.
	HasPartitionKey bool
	Headers         []byte // the text of a JSON object, or nil
	Payload         []byte
	Timeout         time.Duration // 0 or less is no deadline
}
