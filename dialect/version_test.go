package dialect

import "testing"

func TestCheckVersion(t *testing.T) {
	for _, test := range []struct {
		version, floor string
		old            bool
	}{
		{"15.18 (Debian 15.18-0+deb12u1)", "11", false},
		{"11", "11", false},
		{"11beta3", "11", false},
		{"10.23", "11", true},
		{"10.11.6-MariaDB-0+deb12u1", "10.6", false},
		{"10.5.29-MariaDB", "10.6", true},
		{"11.0.2-MariaDB", "10.6", false},
		{"8.0.1", "8.0.1", false},
		{"8.0.0-dmr", "8.0.1", true},
		{"5.7.44", "8.0.1", true},
		{"9.7.4", "8.0.1", false},
		{"8", "8.0.1", true},
		{"unknown", "11", true},
		{"", "11", true},
	} {
		if err := CheckVersion("server", test.version, test.floor); (err != nil) != test.old {
			t.Errorf("%q against %q: %v", test.version, test.floor, err)
		}
	}
}
