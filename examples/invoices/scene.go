package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/headrace/headrace/examples/internal/child"
	"github.com/headrace/headrace/examples/internal/database"
	"github.com/headrace/headrace/examples/internal/person"
	"github.com/headrace/headrace/internal/freeport"
)

// scene is what the program does beside its two child processes.
type scene struct {
	*options
	db *database.Database
	// person decides on what the ledger leaves to a person.
	person person.Person
}

// scene plays it, and reports.
func (o *options) scene(ctx context.Context, out io.Writer) (err error) {
	db, err := o.Begin(ctx, "invoices", "CREATE TABLE synced (order_id integer, invoice_id text)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := &scene{options: o, db: db, person: person.Person{Store: db, Statement: o.statement}}
	systems, at, err := o.start("systems")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, systems.Stop()) }()
	if err := s.play(ctx, "http://"+at, out); err != nil {
		return err
	}
	return s.report(ctx, out)
}

// longestRun is how long a consumer's process lives at most after its first order, until it
// is killed.
const longestRun = 400 * time.Millisecond

// play lets the shop send all orders, while the worker is killed, and waits until every
// order is done.
func (s *scene) play(ctx context.Context, systems string, out io.Writer) error {
	address, err := freeport.Address()
	if err != nil {
		return err
	}
	shop := newShop("http://" + address + "/hooks/orders")
	defer shop.close()
	sent := 0
	for k := range s.kills {
		worker, err := s.startAt(address, "worker", "-systems", systems)
		if err != nil {
			return err
		}
		next := s.n * (k + 1) / (s.kills + 1)
		shop.send(sent, next)
		sent = next
		err = shop.waitForAnswer(ctx)
		time.Sleep(rand.N(longestRun)) // a random moment of the work
		if err := errors.Join(err, worker.Kill()); err != nil {
			return err
		}
		if err := s.db.Invariants(ctx); err != nil { // also while much is half done
			return fmt.Errorf("after kill %d: %w", k+1, err)
		}
		if k%20 == 19 || k == s.kills-1 {
			say(out, "%d orders sent, %d kills", sent, k+1)
		}
	}
	worker, err := s.startAt(address, "worker", "-systems", systems)
	if err != nil {
		return err
	}
	shop.send(sent, s.n)
	return errors.Join(s.settle(ctx), worker.Stop())
}

// settle waits until each order is done. Meanwhile a person looks after the dead letters.
func (s *scene) settle(ctx context.Context) error {
	done := func(ctx context.Context) (int, error) {
		_, done, err := s.synced(ctx)
		return done, err
	}
	return child.Work{Total: s.n, Done: done, Says: "orders are done", One: "an order", Meanwhile: s.person.Look}.Settle(ctx, s.Dir)
}

// synced returns how many rows the handler has written, and for how many orders.
func (s *scene) synced(ctx context.Context) (rows, orders int, err error) {
	err = s.db.DB.QueryRowContext(ctx, "SELECT count(*), count(DISTINCT order_id) FROM synced").Scan(&rows, &orders)
	return rows, orders, err
}

func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...)
}

// start starts a child at an address of its own, and returns that.
func (o *options) start(role string) (*child.Process, string, error) {
	address, err := freeport.Address()
	if err != nil {
		return nil, "", err
	}
	p, err := o.startAt(address, role)
	return p, address, err
}

func (o *options) startAt(address, role string, args ...string) (*child.Process, error) {
	return child.Start(o.Dir, role, append(append(o.Args(), "-at", address, "-faults", fmt.Sprint(o.faults)), args...)...)
}
