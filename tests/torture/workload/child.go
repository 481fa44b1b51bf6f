package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// Variable is the environment variable that makes a process a child; it holds an Order.
const Variable = "HEADRACE_TORTURE_CHILD"

// Role says what a child does.
type Role string

// The roles.
const (
	Work    Role = "work"    // run the consumers until SIGTERM
	Redrive Role = "redrive" // cure and redrive all open letters
	Prune   Role = "prune"   // prune once through
	Hog     Role = "hog"     // hold SQLite's write lock, again and again
)

// Order is what a child is told.
type Order struct {
	Role Role
	// Store is sqlite or postgres, and DSN a path or a URL.
	Store, DSN string
	// Broker is the address of the parent's.
	Broker string
	// Point and Nth are where to die, for a child that is over soon; another one is told
	// later.
	Point fault.Point
	Nth   int
}

// Lines that a child writes on its standard output.
const (
	Ready  = "ready"  // it is about to begin
	Dies   = "dies"   // and the point
	Ended  = "ended"  // in order; with what was left of its goroutines
	Failed = "failed" // and why
)

// MaxConns is the pool of a child.
const MaxConns = 8

// Main is the child's main function. It returns the exit code.
func Main(order string) int {
	var o Order
	if err := json.Unmarshal([]byte(order), &o); err != nil {
		return failed(err)
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo})))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { <-signals; stop() }()
	d := &death{point: o.Point, nth: o.Nth}
	go d.listen(os.Stdin)
	before := runtime.NumGoroutine()
	if err := do(ctx, o, d); err != nil {
		return failed(err)
	}
	say(Ended, goroutinesAbove(before))
	return 0
}

func say(words ...any) { fmt.Println(words...) }

func failed(err error) int {
	say(Failed, strings.ReplaceAll(err.Error(), "\n", "; "))
	return 1
}

// goroutinesAbove is how many are left over a little after the end.
func goroutinesAbove(before int) int {
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if n := runtime.NumGoroutine() - before; n <= 0 || time.Now().After(end) {
			return max(n, 0)
		}
	}
}

func do(ctx context.Context, o Order, d *death) error {
	if o.Role == Hog {
		return hog(ctx, o)
	}
	st, closing, err := openPatiently(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = closing() }()
	say(Ready)
	wrapped := fault.Store(st, d.at)
	switch o.Role {
	case Redrive:
		return redriveCured(ctx, wrapped)
	case Prune:
		return prunes(ctx, wrapped)
	}
	return work(ctx, wrapped, o, d.at)
}

// serverTimeout is how long a child waits for a server that has just been killed.
const serverTimeout = 30 * time.Second

// openPatiently opens the store of a child, as a supervisor would that starts it until it runs.
func openPatiently(ctx context.Context, o Order) (st store.Store, closing func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	err = backoff.Retry(func() (err error) {
		st, closing, err = Open(ctx, o.Store, o.DSN, false)
		return err
	}, backoff.WithContext(backoff.NewConstantBackOff(200*time.Millisecond), ctx))
	return st, closing, err
}

// Open opens the store of a child, or of the parent.
func Open(ctx context.Context, kind, dsn string, migrate bool) (store.Store, func() error, error) {
	if kind == "sqlite" {
		st, err := sqlite.Open(ctx, dsn, sqlite.Options{Migrate: migrate})
		if err != nil {
			return nil, nil, err
		}
		return st, st.Close, nil
	}
	st, err := postgres.Open(ctx, dsn, postgres.Options{Migrate: migrate, MaxConns: MaxConns, TCPUserTimeout: 3 * time.Second})
	if err != nil {
		return nil, nil, err
	}
	return st, st.Close, nil
}

// death kills the process when a point is reached for the nth time from now.
type death struct {
	mu    sync.Mutex
	point fault.Point
	nth   int
}

// listen takes orders, "point nth" each; the parent's end is the end of them and of us.
func (d *death) listen(in io.Reader) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var point fault.Point
		var nth int
		if _, err := fmt.Sscan(lines.Text(), &point, &nth); err == nil {
			d.mu.Lock()
			d.point, d.nth = point, nth
			d.mu.Unlock()
		}
	}
	os.Exit(3)
}

func (d *death) at(p fault.Point) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p != d.point {
		return nil
	}
	if d.nth--; d.nth > 0 {
		return nil
	}
	say(Dies, p)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {} // the signal comes
}
