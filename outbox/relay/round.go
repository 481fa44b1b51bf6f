package relay

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/outbox"
)

// state says what became of an item.
type state uint8

const (
	// left: nothing is known about it, and it stays where it stands.
	left state = iota
	confirmed
	refused
	// blocked: a ready row of an order that has held rows; it is not published.
	blocked
	// waiting: it comes after a refused row of its order.
	waiting
)

// item is a row of a batch.
type item struct {
	row *outbox.Row
	// held is why it stands on the held line; "" for a ready row.
	held outbox.Reason
	// next is the item of the same order that comes after it; 0 if there is none
	// (the first item follows nobody).
	next  int32
	state state
	err   error
	// mark is how many rows the sink had confirmed when this one was given to it.
	mark int64
	// doubted says that it was refused in the round before, and that the sink has
	// confirmed another row since.
	doubted bool
	// sure says that it was refused again after the sink had confirmed another row:
	// it is the row, and not the end or the beginning of an outage.
	sure bool
}

// order returns what the row keeps its order with, and whether it keeps any.
func (i *item) order() (outbox.Order, bool) {
	e := &i.row.Event
	return outbox.Order{Topic: e.Topic, Key: e.OrderKey}, e.OrderKey != "" && i.held != outbox.Delayed
}

// round is the publishing of a batch.
type round struct {
	*batch
	ctx      context.Context
	items    []item
	heads    []int32 // the first of each order, and the rows without one
	began    int64   // rows that the sink had confirmed
	ended    int64   // and when everything had been tried
	deadline time.Time
	refusals atomic.Int64 // of single rows
	full     atomic.Bool  // no call can be left behind any more
	// failed is the error of a call for several messages that were not tried alone.
	failed atomic.Pointer[error]
}

func newRound(b *batch) *round {
	r := &round{batch: b, items: make([]item, 0, len(b.held)+len(b.ready))}
	for i := range b.held {
		r.items = append(r.items, item{row: &b.held[i].Row, held: b.held[i].Reason})
	}
	for i := range b.ready {
		r.items = append(r.items, item{row: &b.ready[i]})
	}
	r.heads = make([]int32, 0, len(r.items))
	latest := make(map[outbox.Order]int32)
	for i := range r.items {
		it := &r.items[i]
		order, ordered := it.order()
		if !ordered {
			r.heads = append(r.heads, int32(i))
			continue
		}
		if _, held := b.blocks[order]; held && it.held == "" {
			it.state = blocked
			continue
		}
		if before, found := latest[order]; found {
			r.items[before].next = int32(i)
		} else {
			r.heads = append(r.heads, int32(i))
		}
		latest[order] = int32(i)
	}
	return r
}

// run publishes until everything has been tried, the time is up, or ctx ends.
func (r *round) run(ctx context.Context) {
	r.ctx, r.began, r.deadline = ctx, r.sink.confirmed.Load(), time.Now().Add(batchTime)
	r.doubt()
	divide := r.lanes
	if r.probe {
		divide = r.probes
	}
	var lanes sync.WaitGroup
	for _, heads := range divide() {
		lanes.Go(func() { r.lane(heads) })
	}
	lanes.Wait()
	r.makeSure()
	r.ended = r.sink.confirmed.Load()
	r.remember()
}

// doubt marks the rows that were refused the last time.
func (r *round) doubt() {
	before := r.refused[r.shard]
	if len(before) == 0 {
		return
	}
	for i := range r.items {
		mark, found := before[r.items[i].row.RowID]
		r.items[i].doubted = found && r.began > mark
	}
}

// remember keeps the refused rows that stay where they stand for the next round.
func (r *round) remember() {
	var rows map[int64]int64
	for i := range r.items {
		if it := &r.items[i]; it.state == refused && !r.counts(it) {
			if rows == nil {
				rows = make(map[int64]int64)
			}
			rows[it.row.RowID] = it.mark
		}
	}
	r.refused[r.shard] = rows
}

// counts reports whether the refusal of it spends an attempt: the sink has confirmed
// another row since the round began, or since it refused this one before.
func (r *round) counts(it *item) bool {
	return it.doubted || r.ended > r.began
}

// makeSure publishes those that are to be parked once more, where the sink has
// confirmed another row since it refused them.
func (r *round) makeSure() {
	var last []int32
	for i := range r.items {
		it := &r.items[i]
		if it.state == refused && it.row.Attempts+1 >= r.o.MaxAttempts && (it.doubted || r.sink.confirmed.Load() > it.mark) {
			last = append(last, int32(i))
		}
	}
	r.deadline = time.Now().Add(batchTime) // the first call may have taken all the time
	var lanes sync.WaitGroup
	for n := range min(r.o.Concurrency, len(last)) {
		lanes.Go(func() {
			for k := n; k < len(last) && !r.over(); k += r.o.Concurrency {
				it := &r.items[last[k]]
				it.state, it.err = left, nil
				r.publish(last[k : k+1])
				it.sure = it.state == refused
			}
		})
	}
	lanes.Wait()
}

// lanes divides the heads among goroutines: first those that were refused before,
// each to be published alone, then the others, those of a topic together.
func (r *round) lanes() [][]int32 {
	n := min(r.o.Concurrency, len(r.heads))
	if n == 0 {
		return nil
	}
	var suspects, others []int32
	for _, h := range r.heads {
		if r.items[h].row.Attempts > 0 {
			suspects = append(suspects, h)
		} else {
			others = append(others, h)
		}
	}
	if topic := r.topic; slices.ContainsFunc(others, func(h int32) bool { return topic(h) != topic(others[0]) }) {
		slices.SortStableFunc(others, func(a, b int32) int { return cmp.Compare(topic(a), topic(b)) })
	}
	lanes := make([][]int32, n)
	for i, h := range suspects {
		lanes[i%n] = append(lanes[i%n], h)
	}
	for i := range lanes {
		lanes[i] = append(lanes[i], others[i*len(others)/n:(i+1)*len(others)/n]...)
	}
	return lanes
}

// probes divides the heads for a round that shall find out whether the sink
// confirms anything. Nobody knows which row it will take, and few are tried: other
// ones than the last time, and of as many topics as there are.
func (r *round) probes() [][]int32 {
	heads := r.heads
	rand.Shuffle(len(heads), func(i, k int) { heads[i], heads[k] = heads[k], heads[i] })
	nth := make(map[int32]int, len(heads)) // of its topic
	topics := make(map[string]int)
	for _, h := range heads {
		nth[h] = topics[r.topic(h)]
		topics[r.topic(h)]++
	}
	slices.SortStableFunc(heads, func(a, b int32) int { return cmp.Compare(nth[a], nth[b]) })
	heads = heads[:min(len(heads), probeRows)]
	lanes := make([][]int32, min(probeLanes, r.o.Concurrency, len(heads)))
	for i, h := range heads {
		lanes[i%len(lanes)] = append(lanes[i%len(lanes)], h)
	}
	return lanes
}

func (r *round) topic(i int32) string { return r.items[i].row.Event.Topic }

// lane publishes heads, then those that come after them, and so on.
func (r *round) lane(heads []int32) {
	for len(heads) > 0 {
		following := heads[:0]
		for rest := heads; len(rest) > 0; {
			if r.over() {
				return
			}
			n := r.together(rest)
			r.publish(rest[:n])
			for _, h := range rest[:n] {
				if it := &r.items[h]; it.state == confirmed && it.next > 0 {
					following = append(following, it.next)
				}
			}
			rest = rest[n:]
		}
		heads = following
	}
}

// together returns how many of heads to give to one call: those of the same topic,
// and a row that was refused before alone, as is each while the sink is tried out.
func (r *round) together(heads []int32) int {
	if r.items[heads[0]].row.Attempts > 0 || r.probe {
		return 1
	}
	n, most := 1, min(r.sink.atOnce(), len(heads))
	for n < most && r.topic(heads[n]) == r.topic(heads[0]) && r.items[heads[n]].row.Attempts == 0 {
		n++
	}
	return n
}

// publish publishes the items with these indexes, and, where that fails, each of
// them alone.
func (r *round) publish(chunk []int32) {
	msgs := make([]*message.Message, len(chunk))
	sending := r.sends.Begin(r.topic(chunk[0]), len(chunk))
	for k, i := range chunk {
		e := &r.items[i].row.Event
		ctx, trace := sending.Send(r.life, contextOf(e))
		msgs[k] = newMessage(ctx, e, trace)
	}
	mark := r.sink.confirmed.Load()
	err := r.sink.publish(r.life, r.topic(chunk[0]), msgs)
	sending.End(failureOf(err))
	switch {
	case err == nil:
		r.sink.confirmed.Add(int64(len(chunk)))
		for _, i := range chunk {
			r.items[i].state = confirmed
		}
	case len(chunk) == 1:
		r.refuse(&r.items[chunk[0]], mark, err)
	default:
		for i := range chunk {
			if r.over() {
				r.failed.Store(&err)
				return
			}
			r.publish(chunk[i : i+1])
		}
	}
}

func (r *round) refuse(it *item, mark int64, err error) {
	switch {
	case errors.Is(err, errFull):
		r.full.Store(true)
		it.err = err
	case r.ctx.Err() != nil: // it may have failed because everything is being stopped
	default:
		it.state, it.err, it.mark = refused, err, mark
		r.refusals.Add(1)
	}
}

const (
	// patience is after how many refusals a round is given up, if nothing is confirmed.
	patience = 16
	// probeRows is how many orders, and rows without one, a round tries out the sink
	// with, and probeLanes how many at a time.
	probeRows  = 8
	probeLanes = 4
)

// over reports whether no further call is to be made.
func (r *round) over() bool {
	return r.full.Load() || r.ctx.Err() != nil || time.Now().After(r.deadline) ||
		!r.probe && r.refusals.Load() >= patience && r.sink.confirmed.Load() == r.began
}

// verdict is what the round says about the sink.
func (r *round) verdict() verdict {
	var v verdict
	for i := range r.items {
		it := &r.items[i]
		if it.state == confirmed {
			v.confirmed++
		}
		if it.err != nil {
			v.refusal = it.err
			v.outage = v.outage || it.state != refused || !r.counts(it)
		}
	}
	if failed := r.failed.Load(); v.refusal == nil && failed != nil && r.ctx.Err() == nil {
		v.refusal, v.outage = *failed, true
	}
	v.outage = v.outage && r.ended == r.began
	return v
}
