package story

import (
	"net"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/pgtest"
)

// "Secrets and payloads never reach logs, errors": whatever is wrong with a DSN, and wherever its password is split,
// no part of it is printed.
func TestDSNIsNeverShown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	database := pgtest.NewDatabase(t)
	const form = "-dsn is not of the form postgres://"
	for _, tc := range []struct{ dsn, says string }{
		{"postgres://u:canary pw@h/x", form},
		{"postgres://u:canary%zzcanary@h/x", form},
		{"postgres://u:canary/canary@h/x", form},
		{"postgres://u:canary#canary@h/x", form},
		{"postgres://u:p@[canary/x", form},
		{"postgres://u:p@127.0.0.1:1/x?canary=%zz", "cannot be reached"},
		{"postgres://u:p@h/x?sslmode=canary", form},
		{"postgres://u:p@h:canary/x", form},
		{"mysql://u:canary@h/x", form},
		{"canary", form},
		{"canary pw", form},
		{"host=h password=canary canary user=u", form},
		{"host=h password='canary", form},
		{"host=h canary", form},
		{"\x01canary://canary", form},
		{"postgres://u:x@" + free + "/canary?sslmode=disable", "refused"},
		{"postgres://u:x@canary.invalid/x?sslmode=disable", "cannot be reached"},
		{"postgres://u:x@" + free + "/x?sslmode=disable&sslrootcert=canary", ""},
		{"postgres://u:x@127.0.0.1/x?sslmode=verify-full&sslrootcert=canary", ""},
		{"host=/canary user=canary dbname=canary", "cannot be reached"},
		{withDatabase(database, "canary"), "SQLSTATE 3D000"},
		{database + "&canary=1", "SQLSTATE 42704"},
		{database + "&search_path=canary", "no schema"},
	} {
		r := runChild(t, nil, "-dsn", tc.dsn, "-n", "5")
		if r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, tc.says) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%q: %+v", tc.dsn, r)
		}
		if strings.Contains(r.stderr, "canary") || strings.Contains(r.stderr, free) {
			t.Errorf("%q is shown: %s", tc.dsn, r.stderr)
		}
	}
	// A DSN that the shell has split.
	if r := runChild(t, nil, "-dsn", "postgres://u:x", "canary@h/x"); r.code != exitUsage || strings.Contains(r.stderr, "canary") {
		t.Errorf("split: %+v", r)
	}
}

// withDatabase is dsn with another database.
func withDatabase(dsn, name string) string {
	base, query, _ := strings.Cut(dsn, "?")
	return base[:strings.LastIndexByte(base, '/')+1] + name + "?" + query
}
