package main

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/pgtest"
)

// Each exit status comes out of a command. TestInterruptedRedrive shows 130.
func TestExitStatus(t *testing.T) {
	p := newProgram(t)
	p.run(exitDone, nil, "dlq", "ls")
	p.run(exitFailed, nil, "dlq", "show", "99")
	p.run(exitUsage, nil, "dlq", "show", "one")
	p.run(exitFailed, nil, "backlog", "show", "99")
	p.wants("backlog show", "no message waits under the id 99", "next: headrace backlog ls")
	p.seed("dead", "1")
	p.run(exitPartial, nil, "status")
	p.run(exitPartial, nil, "dlq", "redrive", "--direct", "1", "99", "--yes")

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

// A file that cannot be opened, or written, is not permitted either. SQLite has no roles.
func TestNotPermittedFile(t *testing.T) {
	for _, err := range []error{&os.PathError{Op: "open", Path: "test.db", Err: os.ErrPermission}, readOnly{}} {
		m := New()
		var stderr strings.Builder
		m.Stderr, m.started = &stderr, true
		got := m.exit(fmt.Errorf("open: %w", err), "headrace status")
		if says := stderr.String(); got != exitNotPermitted || strings.Contains(says, "role") || strings.Contains(says, "may not write") != (err == readOnly{}) {
			t.Errorf("%d: %s", got, says)
		}
	}
}

// Who asked a process that died looks at its consumer next.
func TestExitLeadsOnAfterALostProcess(t *testing.T) {
	m := New()
	var stdout, stderr strings.Builder
	m.Stdout, m.Stderr, m.started = &stdout, &stderr, true
	m.flags.format.value = "table"
	m.out = bufio.NewWriter(m.Stdout)
	if got := m.exit(fmt.Errorf("pod-1: %w", instance.ErrLost), "headrace dlq rehearse"); got != exitFailed || !strings.HasSuffix(stderr.String(), "headrace: next: headrace consumer ls\n") {
		t.Errorf("%d: %s", got, &stderr)
	}
}

// readOnly is SQLITE_READONLY.
type readOnly struct{}

func (readOnly) Error() string { return "attempt to write a readonly database" }
func (readOnly) Code() int     { return 8 }

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
