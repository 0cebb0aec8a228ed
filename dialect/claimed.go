package dialect

import (
	"strings"
	"time"
)

// ClaimedRole is a column that a claim answers beside the key.
type ClaimedRole struct {
	Role  Role
	Field Field
}

// ClaimedRoles lists the columns of a table that a claim in the lease form answers: what the
// delivery needs, and what orders the rows that were claimed together.
func ClaimedRoles(t *Table) []ClaimedRole {
	var roles []ClaimedRole
	for _, r := range []ClaimedRole{
		{LockedUntil, FieldToken}, {Attempt, FieldAttempt}, {Group, FieldGroup},
		{PartitionKey, FieldPartitionKey}, {Headers, FieldHeaders}, {Payload, FieldPayload},
		{Priority, FieldPriority}, {RetryAfter, FieldRetryAfter},
	} {
		if t.Has(r.Role) {
			roles = append(roles, r)
		}
	}
	return roles
}

// RoundUp rounds an instant up to a number of sub-second digits, at most six.
func RoundUp(t time.Time, precision int) time.Time {
	unit := time.Second
	for range min(precision, 6) {
		unit /= 10
	}
	if rounded := t.Truncate(unit); rounded.Before(t) {
		return rounded.Add(unit)
	} else {
		return rounded
	}
}

// TimeLayout is a layout for [time.Time.Format] with exactly that number of sub-second digits, at
// most six: the text in which databases answer a time of that precision.
func TimeLayout(precision int) string {
	layout := "2006-01-02 15:04:05"
	if precision > 0 {
		layout += "." + strings.Repeat("0", min(precision, 6))
	}
	return layout
}
