package mssql

import (
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
)

func TestKinds(t *testing.T) {
	for typeName, want := range map[string]dialect.Kind{
		"bigint": dialect.Integer, "decimal(18, 2)": dialect.Number, "nvarchar(max)": dialect.Text, "varbinary(16)": dialect.Bytes,
		"datetime2(3)": dialect.Time, "datetimeoffset(7)": dialect.Time, "json": dialect.JSON, "uniqueidentifier": dialect.Identifier,
		"datetime": dialect.Other, "bit": dialect.Other, "xml": dialect.Other, "hierarchyid": dialect.Other,
	} {
		if got := New().Kind(typeName); got != want {
			t.Errorf("%s: %s, want %s", typeName, got, want)
		}
	}
	for typeName, want := range map[string]int64{"tinyint": 255, "smallint": 32767, "int": 2147483647, "bigint": 9223372036854775807} {
		if got := New().MaxInteger(typeName); got != want {
			t.Errorf("%s: %d, want %d", typeName, got, want)
		}
	}
}

func TestFormatTime(t *testing.T) {
	instant := time.Date(2026, 2, 3, 4, 5, 6, 700_000_001, time.FixedZone("east", 3600))
	for precision, want := range map[int]string{
		0: "2026-02-03 03:05:07", 3: "2026-02-03 03:05:06.701", 6: "2026-02-03 03:05:06.700001",
	} {
		if got := New().FormatTime(instant, precision); got != want {
			t.Errorf("precision %d: %s, want %s", precision, got, want)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for version, old := range map[string]bool{"16.0.4105.2": false, "13.0.1601.5": false, "12.0.2000.8": true, azure: false, "": true} {
		if err := New().CheckVersion(version); (err != nil) != old {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestNullablePriority orders by an expression that an index cannot have.
func TestNullablePriority(t *testing.T) {
	table := &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: map[dialect.Role]string{dialect.Priority: "p", dialect.Payload: "payload"},
		Columns: []dialect.Column{{Name: "p", Type: "int", Kind: dialect.Integer, Nullable: true}}}
	if claim := New().RowLockClaim(table, dialect.Selection{}).SQL; !strings.HasSuffix(claim, "ORDER BY CASE WHEN [p] IS NULL THEN 1 ELSE 0 END, [p], [id]") {
		t.Error(claim)
	}
	if index := New().ClaimIndex(table, dialect.Selection{}).Create; !strings.HasSuffix(index, "([p], [id])") {
		t.Error(index)
	}
	if !table.Columns[0].Nullable {
		t.Error("the table was changed")
	}
}

// TestTypesOfKeys answers each type of key as text that is the same in every session, and reads it back
// from an array.
func TestTypesOfKeys(t *testing.T) {
	for typeName, want := range map[string][2]string{
		"uniqueidentifier": {"CONVERT(nvarchar(max), [id])", "CONVERT(uniqueidentifier, v)"},
		"varbinary(16)":    {"[id]", "CONVERT(varbinary(16), v, 2)"},
		"datetime2(3)":     {"CONVERT(nvarchar(34), [id], 121)", "CONVERT(datetime2(3), v)"},
		"float":            {"CONVERT(nvarchar(34), [id], 3)", "CONVERT(float, v)"},
	} {
		c := dialect.Column{Name: "id", Type: typeName, Kind: New().Kind(typeName)}
		if got := [2]string{text(c, "[id]"), element("v", c)}; got != want {
			t.Errorf("%s: %q, want %q", typeName, got, want)
		}
	}
}

// TestKeyOfBytes has no two keys of bytes share a text.
func TestKeyOfBytes(t *testing.T) {
	table := &dialect.Table{Name: "jobs", ID: []string{"id"}, Key: []dialect.KeyPart{{Column: "id"}},
		Columns: []dialect.Column{{Name: "id", Type: "varbinary(16)", Kind: dialect.Bytes}}}
	if key := keyText.LockKey(table); key != "(CONVERT(nvarchar(max), [id], 2))" {
		t.Error(key)
	}
}

// TestIdentityOfAnotherTarget leaves an identity column alone that no row brings a value for.
func TestIdentityOfAnotherTarget(t *testing.T) {
	source := &dialect.Table{Name: "jobs", ID: []string{"id"}, Columns: []dialect.Column{{Name: "id", Type: "bigint", Kind: dialect.Integer}}}
	target := &dialect.Table{Name: "dead", ID: []string{"no"}, Columns: []dialect.Column{
		{Name: "no", Type: "bigint", Kind: dialect.Integer, AlwaysIdentity: true}, {Name: "id", Type: "bigint", Kind: dialect.Integer}}}
	if insert := New().MoveToTable(source, target)[0].SQL; insert != "INSERT INTO [dead] ([id]) SELECT [id] FROM [jobs] WHERE [id] = @p1" {
		t.Error(insert)
	}
}

// TestTypesOfRows answers every type in the form that its value has in JSON.
func TestTypesOfRows(t *testing.T) {
	for typeName, want := range map[string]dialect.Answered{
		"bit":               {Expression: "CONVERT(nvarchar(max), [c])", Kind: abi.ValueBoolean},
		"money":             {Expression: "CONVERT(nvarchar(34), [c], 2)", Kind: abi.ValueNumber},
		"image":             {Expression: "[c]", Kind: abi.ValueBytes},
		"varbinary(16)":     {Expression: "[c]", Kind: abi.ValueBytes},
		"date":              {Expression: "CONVERT(nvarchar(34), [c], 121)"},
		"datetime2(6)":      {Expression: "CONVERT(nvarchar(34), [c], 121)", Kind: abi.ValueTime},
		"datetimeoffset(7)": {Expression: "CONVERT(nvarchar(34), CONVERT(datetime2, SWITCHOFFSET([c], '+00:00')), 121)", Kind: abi.ValueTime},
		"xml":               {Expression: "CONVERT(nvarchar(max), [c])"},
	} {
		c := dialect.Column{Name: "c", Type: typeName, Kind: New().Kind(typeName)}
		if got := New().Answered(c, "[c]"); got != want {
			t.Errorf("%s: %+v, want %+v", typeName, got, want)
		}
	}
}
