package consumer_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/storetest"
)

// leaseTerm is short, so that a test can wait for its end, and far longer than a probe of
// freeze: a child that lost its lease to one would take the message again by itself.
const leaseTerm = 3 * time.Second

// once is a policy that gives a message up at the first attempt, but for lost leases.
var once = retry.Policy{MaxAttempts: 1}

// onEachShared is onEachStore for tests with other processes: f is told how they open the
// store.
func onEachShared(t *testing.T, f func(b *bundle, env ...string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "test.db")
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		f(newBundle(t, st, st.DB()), "LEASE_CHILD=sqlite", "LEASE_DSN="+path)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		b, dsn, schema := newPostgres(t, pgstore.Driver(t))
		f(b, "LEASE_CHILD=postgres", "LEASE_DSN="+dsn, "LEASE_SCHEMA="+schema)
	})
}

// TestLeaseChild is the other process of the tests below: a consumer that prints when it
// begins work, works until it reads a line whatever its context says, and ends with its
// input.
func TestLeaseChild(t *testing.T) {
	var st store.Store
	var err error
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch dsn := os.Getenv("LEASE_DSN"); os.Getenv("LEASE_CHILD") {
	case "":
		return // run by go test
	case "sqlite":
		st, err = sqlite.Open(ctx, dsn, sqlite.Options{})
	case "postgres":
		st, err = postgres.New(ctx, pgtest.OpenDB(t, pgstore.Driver(t), dsn), postgres.Options{Schema: os.Getenv("LEASE_SCHEMA")})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.(io.Closer).Close() })
	lines := make(chan string)
	go func() {
		defer cancel()
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
	}()
	c, err := consumer.New("test", st, consumer.Config{Source: memsource.New(), Retry: once, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
		fmt.Println("begun")
		<-lines
		select { // a process that was frozen past the term learns of it when its timers run
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
		}
		fmt.Println("worked, context:", context.Cause(ctx))
		return effectsOf(m), nil
	}, consumer.Lease(leaseTerm))
	if err := c.Run(ctx); err != nil {
		t.Error(err)
	}
}

// leaseChild is another process that works under leases.
type leaseChild struct {
	*testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startLeaseChild(t *testing.T, env []string) *leaseChild {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &leaseChild{T: t, cmd: exec.Command(self, "-test.run=^TestLeaseChild$", "-test.v")}
	c.cmd.Env, c.cmd.Stderr = append(os.Environ(), env...), os.Stderr
	c.in, err = c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill(); _, _ = c.cmd.Process.Wait() })
	return c
}

// says waits for a line of the child that begins so, and returns it.
func (c *leaseChild) says(prefix string) string {
	c.Helper()
	for c.out.Scan() {
		if strings.HasPrefix(c.out.Text(), prefix) {
			return c.out.Text()
		}
	}
	c.Fatalf("the child ended without saying %q", prefix)
	return ""
}

func (c *leaseChild) signal(s syscall.Signal) {
	c.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.Fatal(err)
	}
}

// offerLeased puts a message into the backlog of a leased handler, and leaves it there.
func (b *bundle) offerLeased(id string) {
	b.Helper()
	t, err := b.st.Begin(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer t.Rollback()
	d := headrace.Delivery{
		Scope: "test/" + topic, Key: id, ID: id, Fingerprint: "print", Topic: topic, Payload: []byte(`{"n":1}`),
		Metadata: map[string]string{}, Attempt: 1,
	}
	e := inbox.Entry{ID: inbox.ID{Scope: d.Scope, Key: id}, State: inbox.Waiting, Fingerprint: d.Fingerprint}
	if err := storetest.Enter(b.Context(), b.st.Inbox(), t, e); err != nil {
		b.Fatal(err)
	}
	if err := b.st.Backlog().Put(b.Context(), t, []backlog.Item{{Consumer: "test", Handler: topic, Delivery: d}}); err != nil {
		b.Fatal(err)
	}
	if err := b.st.Commit(b.Context(), t, nil); err != nil {
		b.Fatal(err)
	}
}

// worker returns a consumer of this process whose leased handler applies at once.
func (b *bundle) worker() *consumer.Consumer {
	b.Helper()
	config := b.config()
	config.Retry = once
	c := b.consumer(config)
	consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
		return effectsOf(m), nil
	}) // its own lease must not end on a busy machine
	return c
}

// freeze stops c while it has no transaction: on SQLite its lock would stop everybody. A process that was
// sent SIGSTOP runs on for a moment, in which it may begin one: only then is its state looked at.
func (b *bundle) freeze(c *leaseChild) {
	b.Helper()
	b.eventually("a freeze outside of transactions", func() bool {
		c.signal(syscall.SIGSTOP)
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			b.Fatalf("the process has not stopped: %v, %v", status, err)
		}
		ctx, cancel := context.WithTimeout(b.Context(), leaseTerm/30)
		defer cancel()
		t, err := b.st.Begin(ctx)
		if err != nil {
			c.signal(syscall.SIGCONT)
			return false
		}
		t.Rollback()
		return true
	})
}

// INVARIANTS, fault 3 (River's JobCompleteTx committed both): a holder that stands still
// past its term, and goes on when another has taken over and committed, changes nothing.
//
//evidence:lease
func TestLeasedZombie(t *testing.T) {
	onEachShared(t, func(b *bundle, env ...string) {
		b.offerLeased("a")
		zombie := startLeaseChild(b.T, env)
		zombie.says("begun")
		b.freeze(zombie)
		c := b.worker()
		b.start(c)
		b.eventually("taken over", func() bool { return b.effects("a") == 1 })
		zombie.signal(syscall.SIGCONT)
		if _, err := fmt.Fprintln(zombie.in, "go on"); err != nil {
			b.Fatal(err)
		}
		if line := zombie.says("worked"); !strings.Contains(line, "lease lost") {
			b.Errorf("the context of the work has not ended with the lease: %s", line)
		}
		if err := zombie.in.Close(); err != nil { // it stops when it has tried to commit
			b.Fatal(err)
		}
		var rest []string
		for zombie.out.Scan() {
			rest = append(rest, zombie.out.Text())
		}
		if err := zombie.cmd.Wait(); err != nil {
			b.Errorf("the zombie: %v:\n%s", err, strings.Join(rest, "\n"))
		}
		if n := b.effects("a"); n != 1 {
			b.Errorf("%d effects", n)
		}
		if list := b.attempts("a"); len(list) != 1 || list[0].Class != string(retry.Lost) {
			b.Errorf("attempts %+v, want the lost lease alone", list)
		}
	})
}

// A process that is killed while it works counts an attempt each time, which gives the
// message up only when there were three: the policy of one attempt alone would at once.
//
//evidence:lease-lost
func TestLeasedKilled(t *testing.T) {
	for kills, want := range map[int]inbox.State{2: inbox.Done, 3: inbox.Dead} {
		t.Run(fmt.Sprint(kills), func(t *testing.T) {
			t.Parallel()
			onEachShared(t, func(b *bundle, env ...string) {
				b.offerLeased("a")
				for range kills {
					victim := startLeaseChild(b.T, env)
					victim.says("begun")
					victim.signal(syscall.SIGKILL)
					_ = victim.cmd.Wait()
				}
				b.start(b.worker())
				b.eventually("ended", func() bool { return b.state("a") != inbox.Waiting })
				if s := b.state("a"); s != want {
					b.Errorf("state %q, want %q", s, want)
				}
				if list := b.attempts("a"); len(list) != kills {
					b.Errorf("%d attempts, want %d", len(list), kills)
				}
				if n := b.effects("a"); n != map[inbox.State]int{inbox.Done: 1, inbox.Dead: 0}[want] {
					b.Errorf("%d effects", n)
				}
				if n := b.count("SELECT count(*) FROM headrace_dead_letters WHERE class = 'crashed'"); (n == 1) != (want == inbox.Dead) {
					b.Errorf("%d letters of the class crashed", n)
				}
			})
		})
	}
}
