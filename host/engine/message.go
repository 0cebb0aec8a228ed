package engine

import (
	"fmt"
	"time"
)

// Message is what a call of inbox_handle is about, or one of those of inbox_handle_batch. The engine reads it during the call only, and changes
// nothing.
type Message struct {
	Subscription string
	Table        string
	Group        string
	ID           []byte       // the id as JSON text; absent is null
	Row          fmt.Stringer // the id as the log writes it; nil is as ID has it
	Attempt      int64        // 0 where the table counts none
	MaxAttempts  int64        // 0 where there is no cap
	PartitionKey string
	// HasPartitionKey tells an empty key from none.
	HasPartitionKey bool
	Headers         []byte        // the text of a JSON object, or nil
	Payload         []byte        // nil for NULL
	Timeout         time.Duration // 0 or less is no deadline; the first message's is that of its batch
	// Statements runs what the guest asks of the database, nil where its handler allows none.
	Statements Statements
	// HTTP sends the guest's requests in the place of its settings' HTTP; nil is that.
	HTTP Requests
	// Publish writes the rows that the guest publishes, nil where its handler allows none.
	Publish Publications
}
