//go:build unix

package nemesis

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/tests/torture/broker"
	"github.com/headrace/headrace/tests/torture/checker"
	"github.com/headrace/headrace/tests/torture/cluster"
	"github.com/headrace/headrace/tests/torture/history"
	"github.com/headrace/headrace/tests/torture/workload"
)

// World is what can be broken.
type World struct {
	// Kind is sqlite or postgres; Dir holds the scenario's files.
	Kind, Dir string
	Rand      *rand.Rand
	Log       *history.Log
	Broker    *broker.Server
	Generator *workload.Generator
	// Cluster, Proxy and Database are PostgreSQL's; nil and "" with SQLite. Path is the
	// file of SQLite.
	Cluster  *cluster.Cluster
	Proxy    *cluster.Proxy
	Database string
	Path     string
	// Kills is how often each crash point is to be hit.
	Kills int
	// Acked and Downstream report whether the source was told of a message, and whether
	// an event came out; Published counts those.
	Acked, Downstream func(id string) bool
	Published         func() int

	mu       sync.Mutex
	db       *sql.DB // never through the proxy
	st       store.Store
	closing  func() error
	slots    []*Child
	restart  bool
	warm     bool // the children have once been left alone until they worked in groups
	wait     sync.WaitGroup
	failures []string
	left     int
	ends     []func()
}

// Children is how many work at a time.
const Children = 2

// order says how a child of role reaches the world.
func (w *World) order(role workload.Role) workload.Order {
	return workload.Order{Role: role, Store: w.Kind, DSN: w.dsn(), Broker: w.Broker.Addr()}
}

func (w *World) dsn() string {
	if w.Kind == "sqlite" {
		return w.Path
	}
	return cluster.DSN(w.Proxy.Addr(), w.Database) + "&connect_timeout=5"
}

// Launch starts a child that is not restarted.
func (w *World) Launch(role workload.Role) (*Child, error) {
	return launch(w.order(role), filepath.Join(w.Dir, string(role)+".log"))
}

// Open opens the parent's own way to the database, and closes the one before.
func (w *World) Open(ctx context.Context, migrate bool) error {
	w.Close()
	dsn := w.Path
	if w.Kind != "sqlite" {
		dsn = w.Cluster.DSN(w.Database) + "&application_name=torture"
	}
	st, closing, err := workload.Open(ctx, w.Kind, dsn, migrate)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.st, w.closing = st, closing
	w.db = st.(interface{ DB() *sql.DB }).DB()
	return nil
}

// Probe asks the database as the parent reaches it.
func (w *World) Probe() checker.Probe { return checker.Probe{Kind: w.Kind, DB: w.System().DB} }

// OnClose has f called at the end of the world.
func (w *World) OnClose(f func()) { w.ends = append(w.ends, f) }

// End closes what the world holds.
func (w *World) End() {
	w.Close()
	for _, f := range w.ends {
		f()
	}
}

// Close ends the parent's own way to the database.
func (w *World) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing != nil {
		_ = w.closing()
		w.closing = nil
	}
}

// System is the database under test, as the parent sees it.
func (w *World) System() checker.System {
	w.mu.Lock()
	defer w.mu.Unlock()
	return checker.System{Kind: w.Kind, DB: w.db, Store: w.st}
}

// Start starts the children that work, each again whenever it ends.
func (w *World) Start() error {
	w.mu.Lock()
	w.restart = true
	w.slots = make([]*Child, Children)
	w.mu.Unlock()
	for i := range Children {
		c, err := w.Launch(workload.Work)
		if err != nil {
			return err
		}
		w.slot(i, c)
		w.wait.Go(func() { w.supervise(i, c) })
	}
	return nil
}

func (w *World) slot(i int, c *Child) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots[i] = c
}

// Child is the one at work in a slot.
func (w *World) Child(i int) *Child {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots[i%Children]
}

func (w *World) supervise(i int, c *Child) {
	for {
		<-c.done
		w.mu.Lock()
		if !c.exit.Killed && !c.exit.Ended {
			w.failures = append(w.failures, c.exit.Err)
		}
		w.left = max(w.left, c.exit.Left)
		again := w.restart
		w.mu.Unlock()
		if !again {
			return
		}
		next, err := w.Launch(workload.Work)
		if err != nil {
			w.mu.Lock()
			w.failures = append(w.failures, err.Error())
			w.mu.Unlock()
			return
		}
		w.mu.Lock()
		w.slots[i] = next
		again = w.restart
		w.mu.Unlock()
		if c = next; !again { // Stop did not see it
			<-c.ready
			c.Signal(syscall.SIGTERM)
		}
	}
}

// stopTime is how long a child may take to end after SIGTERM (invariant 23).
const stopTime = workload.DrainTimeout + 10*time.Second

// Stop ends the children in order. The error says which did not end in time.
func (w *World) Stop() (err error) {
	w.mu.Lock()
	w.restart = false
	slots := slices.Clone(w.slots)
	w.mu.Unlock()
	for _, c := range slots {
		<-c.ready // before that, SIGTERM is no end in order
		c.Signal(syscall.SIGTERM)
	}
	for i, c := range slots {
		if _, ended := c.Wait(stopTime); !ended {
			err = fmt.Errorf("child %d did not end within %s after SIGTERM", i, stopTime)
			c.Signal(syscall.SIGKILL)
		}
	}
	w.wait.Wait()
	return err
}

// Failures are what children said that ended neither in order nor by a kill, and Left
// the most goroutines that were over after an end in order.
func (w *World) Failures() (failures []string, left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failures, w.left
}

// Hit writes down that a fault took effect.
func (w *World) Hit(name, says string) {
	w.Log.Note(history.Entry{Op: history.Hit, Fault: name, Says: says})
}

// run runs a child of another role to its end, armed with a point or not.
func (w *World) run(role workload.Role, p fault.Point, nth int) (Exit, error) {
	o := w.order(role)
	o.Point, o.Nth = p, nth
	c, err := launch(o, filepath.Join(w.Dir, string(role)+".log"))
	if err != nil {
		return Exit{}, err
	}
	exit, ended := c.Wait(reachTime)
	if !ended {
		c.Signal(syscall.SIGKILL)
		return exit, fmt.Errorf("the child of role %s does not end", role)
	}
	if exit.Err != "" {
		return exit, fmt.Errorf("the child of role %s: %s", role, exit.Err)
	}
	return exit, nil
}

// Redrive redrives what can be cured, to the end.
func (w *World) Redrive() error {
	_, err := w.run(workload.Redrive, "", 0)
	return err
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
