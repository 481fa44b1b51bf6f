package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/broker/internal/flow"
)

// requestTime bounds one request, including the client's own retries.
const requestTime = 20 * time.Second

// held is an entry that was read and is not settled.
type held struct {
	id     string
	msg    *message.Message
	cancel context.CancelFunc // of the message's context
	size   int
	back   time.Duration // how long until it may be claimed after it is given back

	// turn is held while its idle time is changed: a beat after the entry was given back
	// would undo that.
	turn sync.Mutex
	// said is when its idle time was last zero; guarded by the flight's mu.
	said time.Time
}

// flight protects the entries of a subscription from being claimed until they are
// settled, and settles many at a time.
type flight struct {
	u     *subscription
	acks  *flow.Batcher[*held]
	backs *flow.Batcher[*held]
	beats *flow.Outage
	heart sync.WaitGroup
	end   context.CancelFunc // of the heart

	mu  sync.Mutex
	all map[string]*held
}

func newFlight(u *subscription) *flight {
	f := &flight{u: u, all: map[string]*held{}, beats: u.outage("keep entries in work from being claimed on Redis")}
	f.acks = &flow.Batcher[*held]{Do: f.ack, Trouble: u.outage("acknowledge entries to Redis"), Batch: batchMost, Workers: 2, Timeout: requestTime}
	f.backs = &flow.Batcher[*held]{Do: f.change, Trouble: u.outage("give entries back to Redis"), Batch: batchMost, Workers: 1, Timeout: requestTime}
	return f
}

// start starts the goroutines; their requests end with ctx.
func (f *flight) start(ctx context.Context) {
	f.acks.Start(ctx, cap(f.u.window))
	f.backs.Start(ctx, cap(f.u.window))
	heart, end := context.WithCancel(ctx)
	f.end = end
	f.heart.Go(func() { f.beat(heart) })
}

// stop waits until all added entries are settled.
func (f *flight) stop() {
	f.acks.Stop()
	f.backs.Stop()
	f.end()
	f.heart.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.all { // entries that could not be settled in time will be claimed
		h.cancel()
	}
}

// add returns the entries that are not in flight already: our own claimer may have
// claimed an entry whose beats failed.
func (f *flight) add(batch []*held) []*held {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(batch, func(h *held) bool {
		if before := f.all[h.id]; before != nil {
			before.said = h.said
			h.cancel()
			return true
		}
		f.all[h.id] = h
		f.u.bytes.Add(h.size)
		return false
	})
}

// giveBack lets the entries be claimed after d.
func (f *flight) giveBack(d time.Duration, batch ...*held) {
	for _, h := range batch {
		h.back = d
		f.backs.Add(h)
	}
}

// settled removes a batch.
func (f *flight) settled(batch []*held) {
	f.mu.Lock()
	for _, h := range batch {
		delete(f.all, h.id)
	}
	f.mu.Unlock()
	for _, h := range batch {
		h.cancel()
		f.u.bytes.Free(h.size)
		<-f.u.window
	}
}

func idsOf(batch []*held) []string {
	ids := make([]string, len(batch))
	for i, h := range batch {
		ids[i] = h.id
	}
	return ids
}

// ack acknowledges a batch. If an entry is no longer pending, the source that claimed it
// has acknowledged it.
func (f *flight) ack(ctx context.Context, batch []*held) ([]*held, error) {
	ids := idsOf(batch)
	var err error
	if f.u.o.Delete {
		_, err = f.u.client.TxPipelined(ctx, func(p goredis.Pipeliner) error {
			p.XAck(ctx, f.u.stream, f.u.o.Group, ids...)
			p.XDel(ctx, f.u.stream, ids...)
			return nil
		})
	} else {
		err = f.u.client.XAck(ctx, f.u.stream, f.u.o.Group, ids...).Err()
	}
	if err != nil && !groupGone(err) {
		return batch, err
	}
	f.settled(batch)
	return nil, nil
}

// change gives a batch back, with the idle times after which it is claimed in time.
func (f *flight) change(ctx context.Context, batch []*held) ([]*held, error) {
	after := map[time.Duration][]string{}
	for _, h := range batch {
		h.turn.Lock()
		defer h.turn.Unlock()
		after[h.back] = append(after[h.back], h.id)
	}
	_, err := f.u.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for back, ids := range after {
			f.idle(ctx, p, ids, f.u.o.ClaimAfter-back)
		}
		return nil
	})
	if err != nil && !groupGone(err) && !f.claimable(batch) {
		return batch, err
	}
	f.settled(batch)
	return nil, nil
}

// claimable reports whether others may already claim the whole batch.
func (f *flight) claimable(batch []*held) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range batch {
		if time.Since(h.said) < f.u.o.ClaimAfter {
			return false
		}
	}
	return true
}

// idle sets the idle time of pending entries of any owner.
func (f *flight) idle(ctx context.Context, c interface {
	Do(context.Context, ...any) *goredis.Cmd
}, ids []string, d time.Duration) *goredis.Cmd {
	args := []any{"XCLAIM", f.u.stream, f.u.o.Group, f.u.o.Name, 0}
	for _, id := range ids {
		args = append(args, id)
	}
	return c.Do(ctx, append(args, "IDLE", d.Milliseconds(), "JUSTID")...)
}

// beat beats the entries every third of ClaimAfter, so that two beats may fail. It
// returns when ctx ends.
func (f *flight) beat(ctx context.Context) {
	ticker := time.NewTicker(f.u.o.ClaimAfter / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for batch := range slices.Chunk(f.due(time.Now()), batchMost) {
			f.say(ctx, batch)
		}
	}
}

// due returns the entries without a beat for a third of ClaimAfter. Most are settled
// earlier, and cost no beat.
func (f *flight) due(now time.Time) (due []*held) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.all {
		if now.Sub(h.said) >= f.u.o.ClaimAfter*3/10 {
			due = append(due, h)
		}
	}
	return due
}

// say beats a batch, except entries that are just being given back or are settled.
func (f *flight) say(ctx context.Context, batch []*held) {
	batch = slices.DeleteFunc(batch, func(h *held) bool { return !h.turn.TryLock() })
	for _, h := range batch {
		defer h.turn.Unlock()
	}
	f.mu.Lock()
	batch = slices.DeleteFunc(slices.Clone(batch), func(h *held) bool { return f.all[h.id] != h })
	f.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	now := time.Now()
	if err := f.idle(ctx, f.u.client, idsOf(batch), 0).Err(); err != nil {
		if ctx.Err() == nil {
			f.beats.Began(err)
		}
		return
	}
	f.beats.Over()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range batch {
		h.said = now
	}
}
