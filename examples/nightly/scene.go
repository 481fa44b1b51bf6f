package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/examples/internal/child"
	"github.com/headrace/headrace/examples/internal/database"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/freeport"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/reconcile"
	"github.com/headrace/headrace/schedule"
)

// scene is what the program does beside its child.
type scene struct {
	*options
	db      *database.Database
	shop    *shop
	address string // of the child
	api     string // of the shop
	nights  []night
	kills   int
}

// night is a line of the table.
type night struct {
	first, last int // the orders that were sold before it
	told, later int
	asked       bool // a person was
	found       reconcile.Result
}

// scene plays it, and reports.
func (o *options) scene(ctx context.Context, out io.Writer) (err error) {
	db, err := o.Begin(ctx, "nightly", "CREATE TABLE booked (order_id integer)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := &scene{options: o, db: db}
	if s.address, err = freeport.Address(); err != nil {
		return err
	}
	s.shop = newShop("http://" + s.address + "/hooks/orders")
	defer s.shop.http.CloseIdleConnections()
	api, closeAPI, err := child.Host(s.shop)
	if err != nil {
		return err
	}
	defer closeAPI()
	s.api = api
	for k := range o.nights {
		if err := s.night(ctx, k+1); err != nil {
			return err
		}
		say(out, "night %d is over", k+1)
	}
	return s.report(ctx, out)
}

// start starts the child.
func (s *scene) start(night int) (*child.Process, error) {
	return child.Start(s.Dir, "worker", append(s.Args(), "-at", s.address, "-shop", s.api, "-night", fmt.Sprint(night))...)
}

// night is a day of sales and the night after it. The second day the shop tells nothing.
func (s *scene) night(ctx context.Context, k int) error {
	sold, told := s.shop.numbers()
	n := night{first: sold + 1}
	if err := s.day(ctx, k); err != nil {
		return err
	}
	var now int
	n.last, now = s.shop.numbers()
	n.told = now - told
	time.Sleep(grace + 200*time.Millisecond)
	if err := schedule.Fire(ctx, s.db, jobOf(k), "the scene"); err != nil { // as headrace schedule fire does
		return err
	}
	s.shop.asked.Store(0)
	select { // of an earlier night
	case <-s.shop.reading:
	default:
	}
	worker, err := s.start(k)
	if err != nil {
		return err
	}
	select {
	case <-s.shop.reading:
	case <-time.After(child.IdleTimeout):
		return errors.New("the books are not read")
	case <-ctx.Done():
		return errors.Join(child.ErrStopped, worker.Stop())
	}
	if worker, err = s.kill(worker, k, 150*time.Millisecond); err != nil {
		return err
	}
	if err := s.morning(ctx, k, &n); err != nil {
		return errors.Join(err, worker.Stop())
	}
	if n.later, err = s.shop.tellLater(ctx); err == nil {
		err = s.settle(ctx, n.last)
	}
	s.nights = append(s.nights, n)
	return errors.Join(err, worker.Stop())
}

// day is one of sales, in which the child is killed.
func (s *scene) day(ctx context.Context, k int) error {
	worker, err := s.start(k)
	if err != nil {
		return err
	}
	if err := s.declared(ctx, k); err != nil {
		return errors.Join(err, worker.Stop())
	}
	selling := make(chan struct{})
	go func() {
		defer close(selling)
		s.shop.sell(ctx, s.n, k == 2)
	}()
	worker, err = s.kill(worker, k, time.Duration(s.n)*10*time.Millisecond)
	<-selling
	if err != nil {
		return err
	}
	return errors.Join(s.declared(ctx, k), worker.Stop())
}

// kill kills the child at a random moment, and starts the next one.
func (s *scene) kill(worker *child.Process, night int, within time.Duration) (*child.Process, error) {
	time.Sleep(rand.N(within))
	s.kills++
	if err := worker.Kill(); err != nil {
		return nil, err
	}
	return s.start(night)
}

// wait waits until cond is true.
func (s *scene) wait(ctx context.Context, what string, cond func() (bool, error)) error {
	for end := time.Now().Add(child.IdleTimeout); ; time.Sleep(20 * time.Millisecond) {
		ok, err := cond()
		switch {
		case err != nil || ok:
			return err
		case ctx.Err() != nil:
			return child.ErrStopped
		case time.Now().After(end):
			return fmt.Errorf("not within %s: %s; %s/worker.log says more", child.IdleTimeout, what, s.Dir)
		}
	}
}

// declared waits until the child knows its schedule, and so has begun.
func (s *scene) declared(ctx context.Context, k int) error {
	return s.wait(ctx, "the consumer begins", func() (bool, error) {
		_, found, err := s.db.Operations().Schedules.Get(ctx, jobOf(k))
		return found, err
	})
}

// morning waits for the end of the tick. A person who is asked looks, and lets it go on.
func (s *scene) morning(ctx context.Context, k int, n *night) error {
	scope := "billing/" + jobOf(k)
	return s.wait(ctx, "the tick has ended", func() (bool, error) {
		var key, state string
		row := s.db.DB.QueryRowContext(ctx, "SELECT key, state FROM headrace_inbox WHERE scope = $1", scope)
		if err := row.Scan(&key, &state); err != nil {
			return false, nil // it has not come
		}
		id := inbox.ID{Scope: scope, Key: key}
		switch inbox.State(state) {
		case inbox.Dead:
			n.asked = true
			return false, s.decide(ctx, id)
		case inbox.Done:
			answer, err := s.db.Operations().Answers.Get(ctx, id)
			if err != nil {
				return false, err
			}
			return true, json.Unmarshal(answer, &n.found)
		}
		return false, nil
	})
}

// decide lets a tick go on that asks a person.
func (s *scene) decide(ctx context.Context, id inbox.ID) error {
	_, err := resolve.New(s.db).Resolve(ctx, resolve.Resolution{
		ID: id, Step: "limit", Decision: resolve.Done, By: "the scene", Reason: "the shop told nothing all day",
	})
	return err
}

// settle waits until so many orders are booked, and nothing waits.
func (s *scene) settle(ctx context.Context, orders int) error {
	return s.wait(ctx, fmt.Sprint(orders, " orders are booked: one is lost"), func() (bool, error) {
		booked, waiting := 0, 0
		err := s.db.DB.QueryRowContext(ctx, "SELECT (SELECT count(DISTINCT order_id) FROM booked), (SELECT count(*) FROM headrace_backlog)").Scan(&booked, &waiting)
		return booked >= orders && waiting == 0, err
	})
}

// letters returns how many dead letters there are.
func (s *scene) letters(ctx context.Context) (int64, error) {
	return s.db.Letters().Count(ctx, dlq.Filter{State: dlq.Open})
}
