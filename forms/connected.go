package forms

import "context"

// Connected is a form that holds the rows of a claim by a connection. A thread claims, handles and
// settles its own rows: the deliveries of one claim are settled in one call, and nothing is claimed
// ahead. Its methods may run beside each other.
type Connected interface {
	Form
	// Connections is how many connections of the pool a claim holds until it is settled.
	Connections() int
	// Alone reports whether the next claim takes one row, whatever its limit.
	Alone() bool
}

// Chained is a form that ends one claim and begins the next in one round trip.
type Chained interface {
	Connected
	// Chains reports whether the settlements, all of those of a claim, can be passed on with the next claim.
	Chains(settlements []*Settlement) bool
	// SettleAndClaim settles as Settle does, and where that has taken effect claims as Claim does, by the same
	// connection. An error is the claim's.
	SettleAndClaim(ctx context.Context, settlements []*Settlement, limit int) ([]Answer, []*Delivery, error)
}
