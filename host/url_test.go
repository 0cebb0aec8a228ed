package host

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// awkwardPassword holds every character that means something in a URL (riverqueue/river#676,
// transact-rs/sqlx#1202).
const awkwardPassword = "a!b@c$d()e*_,/:;=?@ff[]22%&#'\"+"

func TestAwkwardPasswordInAURL(t *testing.T) {
	encoded := "%61" + url.QueryEscape(awkwardPassword[1:]) // with an escape that nobody needs
	for name, password := range map[string]string{"escaped where needed": url.PathEscape(awkwardPassword), "escaped throughout": encoded} {
		t.Run(name, func(t *testing.T) {
			password := strings.NewReplacer("@", "%40", ":", "%3A").Replace(password)
			t.Run("mariadb", func(t *testing.T) {
				at := testdb.MariaDB(t)
				admin := connect(t, testdb.Database{Name: "mariadb", URL: at})
				u, err := url.Parse(at)
				if err != nil {
					t.Fatal(err)
				}
				user := "u" + strings.TrimPrefix(u.Path, "/")[:14]
				script(t, admin, "CREATE USER "+user+" IDENTIFIED BY '"+strings.ReplaceAll(awkwardPassword, "'", "''")+"'")
				t.Cleanup(func() { (&bench{t: t, Service: &Service{store: admin}}).after("DROP USER " + user) })
				script(t, admin, "GRANT ALL ON `"+strings.TrimPrefix(u.Path, "/")+"`.* TO "+user)
				connect(t, testdb.Database{Name: "mariadb", URL: "mariadb://" + user + ":" + password + "@" + u.Host + u.Path})
			})
			t.Run("postgres", func(t *testing.T) {
				// The server of the tests asks for no password, so what would be sent is looked at.
				config, err := pgconn.ParseConfig("postgres://app:" + password + "@127.0.0.1/app")
				if err != nil || config.Password != awkwardPassword {
					t.Errorf("%v: the password is read as %q", err, config.Password)
				}
			})
		})
	}
}

// A socket's directory stands in the URL's host parameter.
func TestPostgresThroughItsSocket(t *testing.T) {
	at := testdb.Postgres(t)
	b := connect(t, testdb.Database{Name: "postgres", URL: at})
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	directory := strings.TrimSpace((&bench{t: t, Service: &Service{store: b}}).query("SELECT current_setting('unix_socket_directories')"))
	through := "postgres://postgres@" + u.Path + "?host=" + url.QueryEscape(directory) + "&port=" + u.Port()
	s := connect(t, testdb.Database{Name: "postgres", URL: through})
	equal(t, "the client's address", strings.TrimSpace((&bench{t: t, Service: &Service{store: s}}).query("SELECT COALESCE(inet_client_addr()::text, 'a socket')")), "a socket")
}
