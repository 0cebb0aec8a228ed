package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretMask(t *testing.T) {
	for secret, want := range map[Secret]string{
		"":                                             "",
		"hunter2":                                      "***",
		"a:b":                                          "***",
		"https://x/y":                                  "***",
		"postgres://app:s3cr3t@db:5432/inbox":          "postgres://app:***@db:5432/inbox",
		"postgres://app@db/inbox":                      "postgres://app@db/inbox",
		"postgres://db/inbox?password=s3cr3t":          "postgres://db/inbox?***",
		"postgres://db/inbox?password=s3c@r3t":         "postgres://***",
		"postgres://app:s3c@r3t@db/inbox":              "postgres://app:***@db/inbox",
		"postgres://app:s3c?r3t@db/inbox":              "postgres:***",
		"postgres://app:s3c/r3t@db/inbox":              "postgres:***",
		"postgres://app:s3cr3t":                        "postgres:***",
		"mysql://app:%73@db/inbox?tls=true":            "mysql://app:***@db/inbox?***",
		"sqlite:/var/lib/in@box.db?_pragma=key(s3cr3)": "sqlite:/var/lib/in@box.db?***",
	} {
		if got := secret.String(); got != want {
			t.Errorf("%q prints as %s, want %s", secret.Reveal(), got, want)
		}
	}
}

// everyPrint is what can become of a value that somebody prints.
func everyPrint(v any) string {
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+"\n", v)
	}
	encoded, err := json.Marshal(v)
	fmt.Fprintln(&out, string(encoded), err, fmt.Errorf("failed: %v", v))
	slog.New(slog.NewTextHandler(&out, nil)).Info("text", "value", v)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "value", v)
	return out.String()
}

func TestNothingPrintsASecret(t *testing.T) {
	file := filepath.Join("testdata", "example.toml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), `group = "emails"`, `group = "${GROUP}"`)
	c, problems := specified(t, file, text, env("DATABASE_URL", "postgres://app:s3cr3t@db/inbox", "MAIL_API_KEY", "s3cr3t", "GROUP", "s3cr3t"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	h := c.Handlers[0]
	for _, v := range []any{
		c, *c, c.Database, c.Runtime, c.Database.URL, c.Runtime.HTTPToken, h, *h, c.Handlers, h.Config, c.Tables,
		struct{ URL Secret }{c.Database.URL}, map[string]Secret{"url": c.Database.URL}, &c.Database.URL,
	} {
		printed := everyPrint(v)
		for _, secret := range []string{"s3cr3t", "733363723374", "tok-from-file", "noreply@example.com"} {
			if strings.Contains(printed, secret) {
				t.Errorf("%T prints %s:\n%s", v, secret, printed)
			}
		}
	}
	if printed := everyPrint(h.Config); !strings.Contains(printed, "api_key") {
		t.Errorf("the keys of config are hidden:\n%s", printed)
	}
}

// TestNoProblemQuotesAnExpansion gives every key of every section a value that came from a variable.
func TestNoProblemQuotesAnExpansion(t *testing.T) {
	for _, value := range []string{"s3cr3t", "s3cr3t.s3cr3t", "{s3cr3t", "s3cr3t://u:s3cr3t@h", "postgres://u:s3cr3t@[h", "-5", "https://s3cr3t/s3cr3t"} {
		var b strings.Builder
		write := func(header string, known keys, skip string) {
			fmt.Fprintf(&b, "[%s]\n", header)
			for _, key := range known {
				if !strings.Contains(skip, key.name) {
					fmt.Fprintf(&b, "%s = \"${VALUE}\"\n", key.name)
				}
			}
		}
		h := newHandler("", nil)
		write("database", databaseKeys(&Database{}), "")
		write("runtime", runtimeKeys(&Runtime{}), "")
		write("tables.a", tableKeys(&Table{}), "")
		write("tables.b", tableKeys(&Table{}), "")
		write("tables.good", keys{{name: "id"}, {name: "group"}}, "")
		write("handlers.a", handlerKeys(h), "backoff on_failure limits allow config")
		write("handlers.a.backoff", backoffKeys(&h.Backoff), "")
		write("handlers.a.on_failure", onFailureKeys(&h.OnFailure), "")
		write("handlers.a.limits", limitKeys(&h.Limits), "")
		write("handlers.a.config", keys{{name: "x"}}, "")
		for _, name := range []string{"b", "c"} {
			fmt.Fprintf(&b, "[handlers.%s]\ntable = \"good\"\ngroup = \"${VALUE}\"\ndead_letter = \"${VALUE}\"\n", name)
		}
		b.WriteString("[handlers.d.allow]\ndb = \"${VALUE}\"\npublish = [\"${VALUE}\", \"${VALUE}\"]\nhttp = [\"${VALUE}\"]\nenv = [\"${VALUE}\"]\nfiles = [{ host = \"${VALUE}\", guest = \"${VALUE}\" }]\n")
		_, err := Parse("inbox.toml", []byte(b.String()), env("VALUE", value))
		if err == nil || strings.Contains(err.Error(), "s3cr3t") || strings.Contains(everyPrint(err), "s3cr3t") {
			t.Errorf("with %s:\n%v", value, err)
		}
	}
}

// What is secret of a URL does not get out in the text of an error.
func TestMask(t *testing.T) {
	d := Database{URL: "postgres://app:s3cr%2Ft@db/inbox?sslpassword=k3y", HandlerURL: "mysql://guest:other@db/inbox"}
	for text, want := range map[string]string{
		"no password authentication for s3cr/t":             "no password authentication for ***",
		"dial postgres://app:s3cr%2Ft@db/inbox: k3y, other": "dial postgres://app:***@db/inbox: ***, ***",
		"connection refused":                                "connection refused",
	} {
		if got := d.Mask(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (Database{URL: "sqlite:inbox.db"}).Mask("busy"); got != "busy" {
		t.Errorf("%q", got)
	}
}
