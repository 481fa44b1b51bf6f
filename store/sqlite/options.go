package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/outbox"
)

// Options configure a store. The zero value works.
type Options struct {
	// Migrate applies missing migrations when the store is opened, and makes the file if
	// there is none. Default: false; then a file whose tables do not fit is an error that
	// matches store.ErrSchema, and stays unchanged.
	Migrate bool
	// Outbox is the name of the store's outbox: events that are published through this
	// store are in it, and its relay publishes no others. Services that share a file and
	// publish to different sinks need different names; a file for each service is better.
	// A new name leaves the events of the old outbox to relays of that name. At most 120
	// bytes. Default "default".
	Outbox string
	// Unchecked opens without checking the tables, for programs that migrate step by
	// step, and makes the file if there is none. Other calls fail while the tables do not
	// fit.
	Unchecked bool
	// ReadOnly opens the file for reading alone, as for a process that may not write it or its
	// directory. Begin fails. A file that no other process has open is read as it is: if one
	// opens it meanwhile, what was read may be wrong, and Close says so.
	ReadOnly bool
	// BusyTimeout bounds the wait for a lock that another process holds if the context
	// has no deadline: when a transaction begins, and in every statement outside of one.
	// In whole milliseconds. Default: 5 s.
	BusyTimeout time.Duration
	// ReadConns is how many connections the store's own reads may use at once, in
	// addition to those of work. Default: 4.
	ReadConns int
}

const (
	defaultBusyTimeout = 5 * time.Second
	maxBusyTimeout     = 24 * time.Hour
	defaultReadConns   = 4
)

func (o Options) withDefaults() (Options, error) {
	if o.BusyTimeout == 0 {
		o.BusyTimeout = defaultBusyTimeout
	}
	if o.ReadConns == 0 {
		o.ReadConns = defaultReadConns
	}
	o.Outbox = cmp.Or(o.Outbox, outbox.DefaultName)
	if err := encode.OutboxName(o.Outbox); err != nil {
		return o, err
	}
	if o.BusyTimeout < time.Millisecond || o.BusyTimeout > maxBusyTimeout {
		return o, fmt.Errorf("Options.BusyTimeout is %s; it must be from 1ms to 24h", o.BusyTimeout)
	}
	if o.Migrate && o.Unchecked {
		return o, errors.New("Options.Migrate and Options.Unchecked contradict each other")
	}
	if o.Migrate && o.ReadOnly {
		return o, errors.New("Options.Migrate and Options.ReadOnly contradict each other")
	}
	if o.ReadConns < 0 {
		return o, fmt.Errorf("Options.ReadConns is %d; it must not be negative", o.ReadConns)
	}
	return o, nil
}
