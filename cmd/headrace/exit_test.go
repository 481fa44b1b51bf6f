package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/pgtest"
)

// Each exit status comes out of a command. TestInterruptedRedrive shows 130.
func TestExitStatus(t *testing.T) {
	p := newProgram(t)
	p.run(exitDone, nil, "dlq", "ls")
	p.run(exitFailed, nil, "dlq", "show", "99")
	p.run(exitUsage, nil, "dlq", "show", "one")
	p.seed("dead", "1")
	p.run(exitPartial, nil, "status")
	p.run(exitPartial, nil, "dlq", "redrive", "1", "99", "--yes")

	p.dsn = "sqlite:" + filepath.Join(t.TempDir(), "other.db")
	p.run(exitRefused, nil, "dlq", "ls")
	if !strings.HasPrefix(p.stderr.String(), "headrace: refused: ") {
		t.Errorf("%q", p.stderr.String())
	}
}

// 4 comes from a login that may do nothing, and from one that does not exist.
func TestNotPermitted(t *testing.T) {
	dsn, schema := pgtest.New(t)
	p := &program{T: t, dsn: dsn}
	p.run(exitDone, nil, "migrate", "up", "--schema", schema)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("options", "-c role=pg_monitor")
	u.RawQuery = query.Encode()
	p.dsn = u.String()
	for _, args := range [][]string{{"status"}, {"dlq", "ls"}, {"migrate", "up"}} {
		p.run(exitNotPermitted, nil, append(args, "--schema", schema)...)
		if !strings.HasPrefix(p.stderr.String(), "headrace: not permitted: ") {
			t.Errorf("%q: %q", args, p.stderr.String())
		}
	}
	query.Del("options")
	u.RawQuery, u.User = query.Encode(), url.User("headrace_stranger")
	p.dsn = u.String()
	p.run(exitNotPermitted, nil, "status", "--schema", schema)
}

// The error of a role with too few rights names it, and what it lacks.
func TestMissingRights(t *testing.T) {
	dsn, schema := pgtest.New(t)
	p := &program{T: t, dsn: dsn}
	p.run(exitDone, nil, "migrate", "up", "--schema", schema)
	db, role := pgtest.OpenDB(t, "postgres", dsn), schema+"_reader"
	exec := func(statement string) {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE ROLE " + role)
	t.Cleanup(func() { exec("DROP OWNED BY " + role + "; DROP ROLE " + role) })
	exec("GRANT USAGE ON SCHEMA " + schema + " TO " + role + "; GRANT SELECT ON ALL TABLES IN SCHEMA " + schema + " TO " + role)
	p.dsn += "&options=" + url.QueryEscape("-c role="+role)
	says := func(want string) {
		t.Helper()
		p.run(exitNotPermitted, nil, "prune", "--source-retention", "1h", "--schema", schema)
		if want = "headrace: not permitted: the role " + role + " lacks " + want + " in schema " + schema + ": prune"; !strings.HasPrefix(p.stderr.String(), want) {
			t.Errorf("%q, want %q", p.stderr.String(), want)
		}
	}
	says("INSERT, UPDATE, DELETE on the tables of headrace")
	exec("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema + " TO " + role)
	exec("REVOKE DELETE ON " + schema + ".headrace_inbox, " + schema + ".headrace_attempts FROM " + role)
	exec("INSERT INTO " + schema + ".headrace_inbox (scope, key, fingerprint, state, changed_at) VALUES ('a/b', 'k', '', 'done', now() - interval '400 days')")
	says("DELETE on headrace_attempts, headrace_inbox")
}

// A file that cannot be opened is not permitted either.
func TestNotPermittedFile(t *testing.T) {
	m := New()
	var stderr strings.Builder
	m.Stderr, m.started = &stderr, true
	err := fmt.Errorf("open: %w", &os.PathError{Op: "open", Path: "test.db", Err: os.ErrPermission})
	if got := m.exit(err, "headrace status"); got != exitNotPermitted {
		t.Errorf("%d: %s", got, stderr.String())
	}
}

// The help, the package and the docs have the same table.
func TestExitTable(t *testing.T) {
	p := newProgram(t)
	p.run(exitDone, nil, "--help")
	help := p.stdout.String()
	pack, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := regexp.MustCompile(`\s*//\s+`).ReplaceAllString(string(pack), " ")
	for _, e := range exitStatuses {
		if want := fmt.Sprintf("  %3d  %s\n", e.status, e.says); !strings.Contains(help+"\n", want) {
			t.Errorf("the help lacks %q", want)
		}
		if !regexp.MustCompile(fmt.Sprintf(`\b%d +%s`, e.status, regexp.QuoteMeta(e.says))).MatchString(doc) {
			t.Errorf("the package doc lacks %d %s", e.status, e.says)
		}
		if want := fmt.Sprintf("| %d | %s |", e.status, e.says); !strings.Contains(string(docs), want) {
			t.Errorf("docs/operate.md lacks %q", want)
		}
	}
}
