package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store"
)

// consumption is a consumer under load.
type consumption struct {
	name string // of the consumer; "" for billing
	src  *source
	// register adds the handler.
	register func(*consumer.Consumer)
	// drive loads it, and ends when nothing is in flight. abandoned is closed when the
	// consumer ends before.
	drive func(ctx context.Context, abandoned <-chan struct{}) error
	// configure changes the configuration; nil leaves it.
	configure func(*consumer.Config)
	// open opens the store; nil means that of the lab's database.
	open func(context.Context) (opened, error)
	// mayFail says that runs of the handler may fail.
	mayFail bool
}

// opened is a store that its opener closes.
type opened struct {
	store.Store
	store.Checker
	io.Closer
}

// openStore opens the lab's database as a store on lib/pq.
func (l *lab) openStore(ctx context.Context) (opened, error) { return l.storeWith(libPQ)(ctx) }

// consume runs a consumer on a store of its own while it is driven, and checks the
// store afterwards.
func (l *lab) consume(ctx context.Context, o consumption) (err error) {
	open := o.open
	if open == nil {
		open = l.openStore
	}
	st, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	config := l.config
	config.Source = o.src
	if o.configure != nil {
		o.configure(&config)
	}
	c, err := consumer.New(cmp.Or(o.name, "billing"), st, config)
	if err != nil {
		return err
	}
	o.register(c)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan struct{})
	var ran error
	go func() {
		defer close(ended)
		ran = c.Run(running)
	}()
	drove := o.drive(ctx, ended)
	stop()
	<-ended
	if err := errors.Join(ran, drove); err != nil {
		return err
	}
	if s := c.Stats(); s.FailedRuns > 0 && !o.mayFail || s.InFlight > 0 || s.Released > 0 {
		return fmt.Errorf("verify: the consumer counted %d failed runs, %d released and %d in flight", s.FailedRuns, s.Released, s.InFlight)
	}
	return check(ctx, st)
}
