package consumer

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/caution"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/group"
)

// running is the instance of a run: its row, and the goroutine that beats.
type running struct {
	guard *caution.Guard
	stop  context.CancelFunc
	beats sync.WaitGroup
}

// startInstance begins to beat, and has the engines of o run messages as carefully as
// the ends of earlier instances ask for. It does not wait for the database.
func (r *run) startInstance(o *group.Options) {
	c := r.c
	self := instance.Instance{ID: uuid.NewString(), Consumer: c.name, Host: o.Host, Build: o.Build}
	r.instance.guard = caution.New(c.st.Operations().Instances, self, caution.Options{
		Look: c.pace.look, Beat: c.pace.beat, Missed: c.pace.missed, Most: c.pace.most, Logger: c.config.Logger,
		OnlyLeased: c.onlyLeased(), LeftBehind: c.leftBehind,
	})
	o.Care = r.instance.guard
	c.guard.Store(r.instance.guard)
	ctx, stop := context.WithCancel(context.WithoutCancel(r.soft)) // it beats until everything has ended
	r.instance.stop = stop
	r.instance.beats.Go(func() { r.instance.guard.Run(ctx) })
}

// onlyLeased reports whether every handler works under leases.
func (c *Consumer) onlyLeased() bool {
	return !slices.ContainsFunc(c.handlers, func(h *handler) bool { return h.Leased == nil })
}

// leftBehind reports whether a handler runs that ignored its context.
func (c *Consumer) leftBehind() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stuck > 0
}

// endInstance says that nothing of the run is under way any more, where that is so.
// Otherwise, or where the database does not take it, the next instance starts with
// caution, for a short time.
func (r *run) endInstance(inOrder bool) {
	if r.instance.guard == nil {
		return
	}
	r.instance.stop()
	if !within(&r.instance.beats, grace) || !inOrder {
		r.c.config.Logger.Warn("the next start will be cautious: the database did not answer in time", "consumer", r.c.name)
		return
	}
	most := grace
	if r.c.gate.Err() != nil {
		most = time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	err := atMost(most+grace, "instance", func() error { return r.instance.guard.End(ctx) })
	if err != nil {
		r.c.config.Logger.Warn("the next start will be cautious: the end of this instance could not be written down", "consumer", r.c.name, "error", encode.Said(err))
	}
}

// Caution says how carefully this process handles messages: Normal, unless an earlier
// process of the consumer ended without a word, or it is not known yet that none did.
// Before Run it is Cautious.
func (c *Consumer) Caution() instance.Caution {
	if guard := c.guard.Load(); guard != nil {
		return guard.Level()
	}
	return instance.Cautious
}
