package regress

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/pgtest/pgstore"
)

// newLimited is a fixture f whose stores connect as a role that is no superuser, so that the
// server's limits of connections hold for it.
func newLimited(t *testing.T, driver string) (f, owner *fixture, role string) {
	t.Helper()
	dsn, schema := pgstore.New(t)
	owner = newPostgres(t, driver, dsn, schema)
	role = strings.Replace(schema, "test", "limited", 1)
	owner.exec("DROP TABLE effects")
	owner.exec("CREATE ROLE " + role + " LOGIN")
	t.Cleanup(func() {
		owner.exec("DROP OWNED BY " + role)
		owner.exec("DROP ROLE " + role)
	})
	for _, grant := range []string{"USAGE, CREATE ON SCHEMA", "ALL ON ALL TABLES IN SCHEMA", "ALL ON ALL SEQUENCES IN SCHEMA", "EXECUTE ON ALL FUNCTIONS IN SCHEMA"} {
		owner.exec("GRANT " + grant + " " + schema + " TO " + role)
	}
	as, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	as.User = url.User(role)
	f = newPostgres(t, driver, as.String(), schema)
	f.look = owner.st
	return f, owner, role
}

// The server may have no connection left for the process (53300), whose own ones it has lost. No
// message has failed: they wait, and are applied when there are connections again.
//
//evidence:cannot-serve
func TestNoConnectionLeft(t *testing.T) {
	t.Parallel()
	for _, w := range fewer([]way{inBatch, leased, fromBacklog, alone}) {
		for _, driver := range drivers(t) {
			t.Run(w.name+" "+driver, func(t *testing.T) {
				t.Parallel()
				f, owner, role := newLimited(t, driver)
				survivesOutage(f, w, outage{
					says: "the database cannot run our statements",
					begin: func() {
						owner.exec("ALTER ROLE " + role + " CONNECTION LIMIT 0")
						// One that is connecting has passed the limit, and shows a moment later.
						for none := 0; none < 3; time.Sleep(50 * time.Millisecond) {
							if none++; owner.count("SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE usename = '"+role+"'") > 0 {
								none = 0
							}
						}
					},
					end: func() { owner.exec("ALTER ROLE " + role + " CONNECTION LIMIT -1") },
				})
			})
		}
	}
}
