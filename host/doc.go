// Package host runs the subscriptions of an inbox.toml: it claims rows, hands them to the instances of
// their modules on dedicated threads, and settles them by the outcomes that come back.
//
// A [Service] is opened, which checks everything that can be checked before the first claim, and then
// run. Each subscription has one claimer, one settler and its threads:
//
//	claimer ──rows──▶ queue ──▶ threads ──settlements──▶ settler
//
// The claimer runs ahead of the threads only as far as they will soon need. The settler settles in
// groups whatever has arrived while the last group was on the wire, and extends the leases of all rows
// in hand, so that no two statements about one row are ever in flight together.
package host
