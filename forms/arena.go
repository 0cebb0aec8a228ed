package forms

// arena gives the deliveries of one claim their room, in pieces that several rows share: an allocation for each row, for
// its key and for its payload costs more than the row's way through the host. A piece goes when the last of its rows does.
type arena struct {
	// rows is how many deliveries may come; 0 is one.
	rows       int
	deliveries []Delivery
	parts      []any
	bytes      []byte
}

const (
	// maxPiece is how many deliveries share a piece at most, and maxShared how long a text may be, in bytes, that shares
	// one of pieceBytes: what keeps a piece alive is a single row, perhaps for long.
	maxPiece   = 64
	maxShared  = 1 << 10
	pieceBytes = 16 << 10
)

// delivery is an empty one with room for a key of so many columns.
func (a *arena) delivery(columns int) *Delivery {
	if len(a.deliveries) == 0 {
		n := min(max(a.rows, 1), maxPiece)
		a.rows = max(a.rows-n, 0)
		a.deliveries, a.parts = make([]Delivery, n), make([]any, n*columns)
	}
	d := &a.deliveries[0]
	d.ID = ID(a.parts[:columns:columns])
	a.deliveries, a.parts = a.deliveries[1:], a.parts[columns:]
	return d
}

// clone copies a text of the last delivery; nil stays nil, and an empty one stays empty. That of the last one shares with nobody.
func (a *arena) clone(text []byte) []byte {
	if text == nil {
		return nil
	}
	if len(text) == 0 || len(text) > maxShared || len(a.deliveries) == 0 {
		return append([]byte{}, text...)
	}
	if cap(a.bytes)-len(a.bytes) < len(text) {
		a.bytes = make([]byte, 0, min(pieceBytes, len(text)*(1+len(a.deliveries))))
	}
	start := len(a.bytes)
	a.bytes = append(a.bytes, text...)
	return a.bytes[start:len(a.bytes):len(a.bytes)]
}
