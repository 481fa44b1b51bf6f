package postgres

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzDSN: any DSN is read or refused without a word of it, and without a connection.
func FuzzDSN(f *testing.F) {
	for _, s := range []string{
		"postgres://user:canary@host:5432/db?sslmode=disable", "host=h password='canary", "postgres://%zz:canary@", "port=canary", "sslmode=canary",
		"postgres://h:99999/db", "postgres:///db?host=/tmp", "connect_timeout=-1", "\x00", "=",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		for _, variable := range []string{"PGPASSFILE", "PGSERVICEFILE"} {
			t.Setenv(variable, "/nonexistent")
		}
		c, err := newConnector(dsn, Options{})
		if (err == nil) != (c != nil) {
			t.Fatalf("%v and %v", c, err)
		}
		if err != nil && len(dsn) > 8 && !strings.Contains(errDSN.Error(), dsn) && strings.Contains(err.Error(), dsn) {
			t.Fatalf("the refusal repeats %q: %v", dsn, err)
		}
	})
}

// FuzzSchema: a schema is quoted so that nothing of it is read as SQL, or refused by the
// name of its option.
func FuzzSchema(f *testing.F) {
	for _, s := range []string{"", " ", "public", `a"; DROP TABLE x; --`, "A", "\x00", strings.Repeat("é", 32), "$headrace$", "\xff", "{{schema}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		o, err := Options{Schema: schema}.withDefaults()
		if err != nil {
			if !strings.Contains(err.Error(), "Options.Schema") {
				t.Fatal(err)
			}
			return
		}
		q := o.quoted()
		if inner := q[1 : len(q)-1]; q[0] != '"' || q[len(q)-1] != '"' || strings.Contains(strings.ReplaceAll(inner, `""`, ""), `"`) || strings.ReplaceAll(inner, `""`, `"`) != o.Schema {
			t.Fatalf("%q is quoted as %s", schema, q)
		}
	})
}

// FuzzPlace: the place at which a prune goes on is read or refused.
func FuzzPlace(f *testing.F) {
	for _, s := range []string{"", "x", "(0,1)", `["a","b"]`, `["a"]`, "null", "messages ", "-1", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePlace(s)
		if err != nil {
			if s == "" || p != (place{}) {
				t.Fatalf("%q: %v, %v", s, p, err)
			}
			return
		}
		if again, err := parsePlace(fmt.Sprintf("(%d,%d)", p.page, p.row)); err != nil || again != p {
			t.Fatalf("%q: %v, then %v, %v", s, p, again, err)
		}
	})
}
