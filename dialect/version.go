package dialect

import (
	"fmt"
	"strconv"
	"strings"
)

// CheckVersion compares a server's version with the oldest that will do. Numbers are compared part by
// part; whatever follows them in the server's text is left aside.
func CheckVersion(server, version, floor string) error {
	have, want := numbers(version), numbers(floor)
	if len(have) == 0 {
		return fmt.Errorf("%s gives its version as %q, which has no number", server, version)
	}
	for i, n := range want {
		if i >= len(have) || have[i] < n {
			return fmt.Errorf("%s %s is too old: %s is the oldest that will do", server, version, floor)
		}
		if have[i] > n {
			return nil
		}
	}
	return nil
}

// numbers are the numbers that a version starts with.
func numbers(version string) []int {
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		digits := part
		if end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			digits = part[:end]
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			break
		}
		list = append(list, n)
		if digits != part {
			break
		}
	}
	return list
}
