package redis

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sleep"
)

// batchMost is how many entries one request reads, claims or acknowledges.
const batchMost = 128

// subscription is one call of Subscribe: a reader and a claimer that take entries, and
// the flight that protects them until they are settled.
type subscription struct {
	o      SourceOptions
	client goredis.UniversalClient
	stream string
	gate   *flow.Gate
	log    *slog.Logger
	// ctx ends when reading and handing over stop; settling ends when settling stops.
	ctx      context.Context
	cancel   context.CancelFunc
	closing  context.Context
	settling context.Context
	out      chan *message.Message
	// window holds a token for each entry in flight.
	window  chan struct{}
	bytes   flow.Bytes
	flight  *flight
	watched sync.WaitGroup // goroutines that wait for handed out entries
	reads   *flow.Outage
	claims  *flow.Outage
	wholes  *flow.Outage
	lost    metric.Int64Counter
	server  string // that answered the last look for lost entries; belongs to Subscribe, then to the claimer
	health  flow.Health
	// questions are for Redis, from Healthy and Lag.
	questions chan func()
}

// newSubscription returns a subscription that needs ctx and cancel to run.
func newSubscription(s *Source, stream string, window int) *subscription {
	u := &subscription{
		o: s.o, client: s.o.Client, stream: stream, closing: s.closing, log: s.o.Logger.With("stream", stream),
		out: make(chan *message.Message), window: make(chan struct{}, window),
		questions: make(chan func()),
	}
	u.reads, u.claims = u.outage("read from Redis"), u.outage("claim entries of Redis")
	u.wholes = u.outage("read all fields of entries of Redis")
	u.flight = newFlight(u)
	u.lost = s.lost
	u.bytes.Most = s.o.MaxBytes
	return u
}

func (u *subscription) outage(what string) *flow.Outage {
	return &flow.Outage{Log: u.log, What: what, Say: encode.Said}
}

// run returns when all read entries are settled or given back.
func (u *subscription) run() {
	defer u.cancel()
	stop := context.AfterFunc(u.closing, u.cancel)
	defer stop()
	settling, end := context.WithCancel(context.WithoutCancel(u.ctx))
	defer end()
	u.settling = settling
	u.flight.start(settling)
	var takers sync.WaitGroup
	_ = u.look(settling) // the claimer looks again
	takers.Go(u.read)
	takers.Go(u.claim)
	takers.Go(u.answer)
	<-u.ctx.Done()
	limit := time.AfterFunc(u.o.Block+u.o.CloseTimeout, end)
	defer limit.Stop()
	takers.Wait()
	u.watched.Wait()
	u.flight.stop()
	if settling.Err() == nil {
		last, done := context.WithTimeout(settling, u.o.CloseTimeout)
		_ = u.remove(last, u.o.Name) // the next source that starts also sweeps
		done()
	}
	close(u.out)
}

// read takes new entries until the subscription ends.
func (u *subscription) read() {
	for u.gate.Wait(u.ctx) {
		n := u.bytes.Take(u.ctx, u.window, batchMost)
		if n == 0 {
			return
		}
		// If a read were cut off, entries could stay pending here unknown to us, so it
		// ends by itself.
		streams, err := u.client.XReadGroup(u.settling, &goredis.XReadGroupArgs{
			Group: u.o.Group, Consumer: u.o.Name, Streams: []string{u.stream, ">"}, Count: int64(n), Block: u.o.Block,
		}).Result()
		var entries []goredis.XMessage
		if len(streams) > 0 {
			entries = streams[0].Messages
		}
		if err != nil && !errors.Is(err, goredis.Nil) {
			u.failed(err)
		} else {
			u.reads.Over()
			u.health.Is(nil)
		}
		u.give(entries, n)
	}
}

// failed waits, and makes the group again if it is gone.
func (u *subscription) failed(err error) {
	if groupGone(err) {
		if err = u.makeGroup(u.settling); err == nil {
			u.log.Warn("the stream or its group was gone; the group was made again, and reads from Start")
			return
		}
	}
	if u.ctx.Err() == nil {
		u.reads.Began(err)
		u.health.Is(u.reads.Err())
		sleep.For(u.ctx, u.reads.Pause())
	}
}

// claim takes entries that other sources no longer beat, and those that were given back.
func (u *subscription) claim() {
	ticker := time.NewTicker(u.o.ClaimEvery)
	defer ticker.Stop()
	for n := 0; u.gate.Wait(u.ctx); n++ {
		err := u.claimAll()
		if err == nil && n%lookEvery == 0 {
			err = u.look(u.settling)
		}
		switch {
		case err == nil:
			u.claims.Over()
		case !groupGone(err) && u.ctx.Err() == nil:
			u.claims.Began(err)
			sleep.For(u.ctx, u.claims.Pause())
		}
		select {
		case <-ticker.C:
		case <-u.ctx.Done():
			return
		}
	}
}

// claimAll goes through all pending entries once.
func (u *subscription) claimAll() error {
	for start := "0-0"; ; {
		n := u.bytes.Take(u.ctx, u.window, batchMost)
		if n == 0 {
			return nil
		}
		entries, next, err := u.client.XAutoClaim(u.settling, &goredis.XAutoClaimArgs{
			Stream: u.stream, Group: u.o.Group, Consumer: u.o.Name, MinIdle: u.o.ClaimAfter, Start: start, Count: int64(n),
		}).Result()
		u.give(entries, n)
		if err != nil || next == "0-0" {
			return err
		}
		select {
		case <-u.gate.Paused():
			return nil
		default:
			start = next
		}
	}
}

// give hands out the entries one after the other. It gives back the remaining ones when
// the topic is paused or the subscription ends. tokens is the room taken for them.
func (u *subscription) give(entries []goredis.XMessage, tokens int) {
	repeating, err := u.whole(entries)
	batch := make([]*held, 0, len(entries))
	for i := range entries {
		batch = append(batch, u.hold(&entries[i], repeating[entries[i].ID]))
	}
	batch = u.flight.add(batch)
	for range tokens - len(batch) {
		<-u.window
	}
	if err != nil {
		u.wholes.Began(err)
		u.flight.giveBack(u.o.NackDelay, batch...)
		return
	}
	u.wholes.Over()
	for i, h := range batch {
		if !u.gate.Offer(u.ctx, u.out, h.msg) {
			u.flight.giveBack(0, batch[i:]...)
			return
		}
		u.watched.Go(func() { u.watch(h) })
	}
}

// hold makes a message of the entry. repeating is all its fields, if it repeats one.
func (u *subscription) hold(e *goredis.XMessage, repeating []string) *held {
	a := headrace.Arrival{Coordinates: headrace.Coordinates{Broker: "redis", Topic: u.stream, Position: e.ID}, Time: timeOf(e.ID)}
	var msg *message.Message
	if repeating == nil {
		msg = read(e.Values, u.o.Scalars)
	} else {
		msg, a.Unreadable = readRepeating(repeating, u.o.Scalars)
	}
	ctx, cancel := context.WithCancel(headrace.WithArrival(u.ctx, a))
	msg.SetContext(ctx)
	return &held{id: e.ID, msg: msg, cancel: cancel, said: time.Now(), size: sizeOf(msg)}
}

// sizeOf is how many bytes of m its sender wrote.
func sizeOf(m *message.Message) int {
	n := len(m.UUID) + len(m.Payload)
	for name, value := range m.Metadata {
		n += len(name) + len(value)
	}
	return n
}

// watch waits until the entry is settled, or the subscription ends.
func (u *subscription) watch(h *held) {
	select {
	case <-h.msg.Acked():
		u.flight.acks.Add(h)
		return
	case <-h.msg.Nacked():
		u.flight.giveBack(u.o.NackDelay, h)
		return
	case <-u.ctx.Done():
	}
	select {
	case <-h.msg.Acked():
		u.flight.acks.Add(h)
	default:
		u.flight.giveBack(0, h)
	}
}
