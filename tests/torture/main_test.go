//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/tests/torture/cluster"
	"github.com/headrace/headrace/tests/torture/workload"
)

func TestMain(m *testing.M) {
	if order := os.Getenv(workload.Variable); order != "" {
		os.Exit(workload.Main(order))
	}
	goleak.VerifyTestMain(m)
}

// seed is the same each time; `go run ./tests/torture` draws one.
const seed = 20260101

// torture plays faults in one scenario, at small scale.
func torture(t *testing.T, kind string, only ...string) {
	t.Helper()
	_, faults, err := choose(kind, strings.Join(only, ","))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "headrace-torture-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the server's user comes by
		t.Fatal(err)
	}
	o := options{seed: seed, n: 100, kills: 1, rate: 40, dir: dir}
	if kind == "postgres" {
		server, err := serve(t.Context(), &o)
		if errors.Is(err, cluster.ErrNone) && os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer server()
	}
	r := play(t.Context(), kind, "test", faults, o)
	var report strings.Builder
	show(&report, r, false)
	t.Log("\n" + report.String())
	if !r.ok() {
		t.Errorf("the files are in %s", dir)
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

// serve starts a server for o, and returns what stops it.
func serve(ctx context.Context, o *options) (stop func(), err error) {
	dir, err := os.MkdirTemp(o.dir, "server-")
	if err != nil {
		return nil, err
	}
	if o.server, err = cluster.New(ctx, dir); err != nil {
		return nil, err
	}
	return func() { _ = o.server.Stop(context.Background(), "immediate") }, nil
}

// points are all places where a process dies.
var points = []string{
	"after-receive", "after-claim", "mid-handler", "before-commit", "after-commit", "after-ack",
	"relay-selected", "relay-published", "relay-deleting", "relay-before-commit", "relay-after-commit",
	"letter-before-commit", "letter-after-commit", "redrive-before-commit", "redrive-after-commit", "prune-between",
}

// TestSQLite and its sisters check INVARIANTS 1 to 9, 11 to 14, 16 to 18 and 23 under
// faults. One rule that is broken fails them with what broke it.
//
//evidence:ack once
func TestSQLite(t *testing.T) {
	t.Parallel()
	torture(t, "sqlite", append(points, "term")...)
}

//evidence:ack once stop
func TestPostgres(t *testing.T) {
	t.Parallel()
	died := points
	if testing.Short() { // TestSQLite has all of them
		died = nil
		for two := range slices.Chunk(points, 2) {
			died = append(died, two[0])
		}
	}
	torture(t, "postgres", append(died, "term", "lost-commit", "long-writer", "late-committer", "long-snapshot")...)
}

func TestPostgresServer(t *testing.T) {
	t.Parallel()
	torture(t, "postgres", "server-crash", "backends", "restore")
}
