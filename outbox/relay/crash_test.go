package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

// childVariable holds the orders of a process that publishes and is killed.
const childVariable = "HEADRACE_RELAY_TEST_CHILD"

// orders tell the child what to do.
type orders struct {
	SQLite, DSN, Schema string
	Log                 string // what it has published, one id a line
	Die                 int    // kill yourself in the publish of this number
}

// child is the process that is killed between publish and delete.
func child() {
	var o orders
	err := json.Unmarshal([]byte(os.Getenv(childVariable)), &o)
	var st relay.Store
	if err == nil && o.SQLite != "" {
		st, err = sqlite.Open(context.Background(), o.SQLite, sqlite.Options{})
	} else if err == nil {
		st, err = postgres.Open(context.Background(), o.DSN, postgres.Options{Schema: o.Schema})
	}
	if err == nil {
		var r *relay.Relay
		if r, err = relay.New(st, &mortalSink{orders: o}, relay.Options{Concurrency: 1, SinkID: "file"}); err == nil {
			err = r.Run(context.Background())
		}
	}
	fmt.Fprintln(os.Stderr, "the child was to be killed:", err)
	os.Exit(1)
}

// mortalSink writes down what it took, and kills its process, without a moment for
// anything else, once it has taken enough.
type mortalSink struct {
	orders
	took int
}

func (s *mortalSink) Publish(_ string, msgs ...*message.Message) error {
	f, err := os.OpenFile(s.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for _, m := range msgs {
		if _, err := fmt.Fprintln(f, m.UUID); err != nil {
			return err
		}
		if s.took++; s.took == s.Die {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	return nil
}

func (s *mortalSink) Close() error { return nil }

// INVARIANTS 7: a relay that is killed between publish and delete publishes again,
// under the same id; nothing is lost, and the shard is free at once.
//
//evidence:confirmed
func TestKilledBetweenPublishAndDelete(t *testing.T) {
	t.Parallel()
	databases := map[string]func(t *testing.T, o *orders) opener{
		"sqlite": func(t *testing.T, o *orders) opener {
			o.SQLite = filepath.Join(t.TempDir(), "outbox.db")
			return sqliteFile(o.SQLite)
		},
		"postgres": func(t *testing.T, o *orders) opener {
			o.DSN, o.Schema = pgstore.New(t)
			return postgresSchema(o.DSN, o.Schema)
		},
	}
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := orders{Log: filepath.Join(t.TempDir(), "published"), Die: 7}
			b := setup(t, database(t, &o))
			b.publish(series("t", "k", "e", 20)...)
			if err := b.kill(o); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(o.Log)
			if err != nil || string(before) != "e-0\ne-1\ne-2\ne-3\ne-4\ne-5\ne-6\n" {
				t.Fatalf("the child published %q, %v", before, err)
			}
			b.relay(b.st, b.options())
			b.untilEmpty()
			var want []string
			for i := range 20 {
				want = append(want, fmt.Sprint("e-", i))
			}
			if diff := cmp.Diff(want, b.sink.ids("t")); diff != "" {
				t.Errorf("published after the kill (-want +got):\n%s", diff)
			}
		})
	}
}

// kill runs a child with these orders until it has killed itself.
func (b *bundle) kill(o orders) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		return fmt.Errorf("the child ended with %w: %s", err, out)
	}
	return nil
}

// DESIGN §3 COMMIT: where the outcome of the commit is unknown, or it was refused,
// the relay publishes again.
//
//evidence:unknown confirmed
func TestAFailedCommitIsPublishedAgain(t *testing.T) {
	for _, outcome := range []error{txn.ErrCommitUnknown, txn.ErrRolledBack} {
		t.Run(outcome.Error(), func(t *testing.T) {
			onEach(t, func(b *bundle) {
				var commits, failures, recoveries atomic.Int64
				b.st.commit = func(ctx context.Context, tx *txn.Txn) error {
					if commits.Add(1) == 1 {
						tx.Rollback()
						return fmt.Errorf("%w: by the test", outcome)
					}
					return b.st.realStore.Commit(ctx, tx, nil)
				}
				o := b.options()
				o.OnError = func(err error) {
					if err != nil && errors.Is(err, outcome) {
						failures.Add(1)
					} else if err == nil {
						recoveries.Add(1)
					}
					b.board.note()
				}
				b.relay(b.st, o)
				b.publish(event("t", "k", "one"))
				b.untilEmpty()
				b.until("the recovery is reported", func() bool { return recoveries.Load() == 1 })
				if n := b.sink.times("one"); n != 2 || failures.Load() != 1 {
					b.Errorf("published %d times, %d failures reported; want 2 and 1", n, failures.Load())
				}
				b.sameOnEachPublish()
			})
		})
	}
}
