package publish

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

	"github.com/headrace/headrace/internal/outboxread"
	"github.com/headrace/headrace/outbox"
)

// Run publishes one batch.
type Run struct {
	*Publisher
	// Entries are the rows of the batch: held ones, then ready ones.
	Entries []Entry

	ctx      context.Context
	life     context.Context // of the messages
	shard    int
	probe    bool
	heads    []int32 // the first of each order, and the rows without one
	began    int64   // rows that the sink had confirmed before the run
	ended    int64   // and after it
	deadline time.Time
	refusals atomic.Int64 // of single rows
	full     atomic.Bool  // no more calls can be abandoned
	// failed is the error of a call whose messages were not all tried alone.
	failed atomic.Pointer[error]
}

// Run publishes b, and returns when everything has been tried, BatchTime is over, or ctx
// ends. life is the context of the messages. With probe it only tests, with a few rows,
// whether the sink confirms anything.
func (p *Publisher) Run(ctx, life context.Context, shard int, b *outboxread.Batch, probe bool) *Run {
	r := &Run{Publisher: p, ctx: ctx, life: life, shard: shard, probe: probe, Entries: make([]Entry, 0, len(b.Held)+len(b.Ready))}
	for i := range b.Held {
		r.Entries = append(r.Entries, Entry{Row: &b.Held[i].Row, Held: b.Held[i].Reason})
	}
	for i := range b.Ready {
		r.Entries = append(r.Entries, Entry{Row: &b.Ready[i]})
	}
	r.link(b)
	r.run()
	return r
}

// link sets the heads and the Next of each entry.
func (r *Run) link(b *outboxread.Batch) {
	r.heads = make([]int32, 0, len(r.Entries))
	latest := make(map[outbox.Order]int32)
	for i := range r.Entries {
		e := &r.Entries[i]
		if !e.ordered() {
			r.heads = append(r.heads, int32(i))
			continue
		}
		order := outboxread.OrderOf(e.Row)
		if _, held := b.Blocks[order]; held && e.Held == "" {
			e.State = Blocked
			continue
		}
		if before, found := latest[order]; found {
			r.Entries[before].Next = int32(i)
		} else {
			r.heads = append(r.heads, int32(i))
		}
		latest[order] = int32(i)
	}
}

func (r *Run) run() {
	r.began, r.deadline = r.sink.confirmed.Load(), time.Now().Add(BatchTime)
	r.doubt()
	parts := r.divide
	if r.probe {
		parts = r.probes
	}
	var calls sync.WaitGroup
	for _, heads := range parts() {
		calls.Go(func() { r.publishAll(heads) })
	}
	calls.Wait()
	r.makeSure()
	r.ended = r.sink.confirmed.Load()
	r.remember()
}

// doubt marks the rows that were refused in the previous run.
func (r *Run) doubt() {
	before := r.refused[r.shard]
	if len(before) == 0 {
		return
	}
	for i := range r.Entries {
		mark, found := before[r.Entries[i].Row.RowID]
		r.Entries[i].doubted = found && r.began > mark
	}
}

// remember stores the refused rows without a spent attempt for the next run.
func (r *Run) remember() {
	var rows map[int64]int64
	for i := range r.Entries {
		if e := &r.Entries[i]; e.State == Refused && !r.Counts(e) {
			if rows == nil {
				rows = make(map[int64]int64)
			}
			rows[e.Row.RowID] = e.mark
		}
	}
	r.refused[r.shard] = rows
}

// Counts reports whether the refusal of e spends an attempt: the sink has confirmed
// another row since the run began, or since it refused this one earlier, or e is too large.
func (r *Run) Counts(e *Entry) bool {
	return e.doubted || r.ended > r.began
}

// makeSure publishes the rows to be parked once more, if the sink has confirmed another
// row since it refused them.
func (r *Run) makeSure() {
	var last []int32
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.State == Refused && e.Row.Attempts+1 >= r.o.MaxAttempts && (e.doubted || r.sink.confirmed.Load() > e.mark) {
			last = append(last, int32(i))
		}
	}
	r.deadline = time.Now().Add(BatchTime) // the first part may have used all the time
	var calls sync.WaitGroup
	for n := range min(r.o.Concurrency, len(last)) {
		calls.Go(func() {
			for k := n; k < len(last) && !r.over(); k += r.o.Concurrency {
				e := &r.Entries[last[k]]
				e.State, e.Err = Left, nil
				r.publish(last[k : k+1])
				e.Sure = e.State == Refused
			}
		})
	}
	calls.Wait()
}

// divide divides the heads among goroutines: first those refused earlier, each to be
// published alone, then the others, those of one topic together.
func (r *Run) divide() [][]int32 {
	n := min(r.o.Concurrency, len(r.heads))
	if n == 0 {
		return nil
	}
	var suspects, others []int32
	for _, h := range r.heads {
		if r.Entries[h].Row.Attempts > 0 {
			suspects = append(suspects, h)
		} else {
			others = append(others, h)
		}
	}
	if topic := r.topic; slices.ContainsFunc(others, func(h int32) bool { return topic(h) != topic(others[0]) }) {
		slices.SortStableFunc(others, func(a, b int32) int { return cmp.Compare(topic(a), topic(b)) })
	}
	parts := make([][]int32, n)
	for i, h := range suspects {
		parts[i%n] = append(parts[i%n], h)
	}
	for i := range parts {
		parts[i] = append(parts[i], others[i*len(others)/n:(i+1)*len(others)/n]...)
	}
	return parts
}

// probes divides the heads for a run that tests whether the sink confirms anything. It is
// unknown which row the sink would confirm. So a few random rows are tried, of as many
// topics as possible.
func (r *Run) probes() [][]int32 {
	heads := r.heads
	rand.Shuffle(len(heads), func(i, k int) { heads[i], heads[k] = heads[k], heads[i] })
	nth := make(map[int32]int, len(heads)) // number within its topic
	topics := make(map[string]int)
	for _, h := range heads {
		nth[h] = topics[r.topic(h)]
		topics[r.topic(h)]++
	}
	slices.SortStableFunc(heads, func(a, b int32) int { return cmp.Compare(nth[a], nth[b]) })
	heads = heads[:min(len(heads), probeRows)]
	parts := make([][]int32, min(probeCalls, r.o.Concurrency, len(heads)))
	for i, h := range heads {
		parts[i%len(parts)] = append(parts[i%len(parts)], h)
	}
	return parts
}

func (r *Run) topic(i int32) string { return r.Entries[i].Row.Event.Topic }

// publishAll publishes heads, then those that come after them, and so on.
func (r *Run) publishAll(heads []int32) {
	for len(heads) > 0 {
		following := heads[:0]
		for rest := heads; len(rest) > 0; {
			if r.over() {
				return
			}
			n := r.together(rest)
			r.publish(rest[:n])
			for _, h := range rest[:n] {
				if e := &r.Entries[h]; e.State == Confirmed && e.Next > 0 {
					following = append(following, e.Next)
				}
			}
			rest = rest[n:]
		}
		heads = following
	}
}

// together returns how many of heads to pass to one call: those of the same topic. A row
// that was refused earlier goes alone, and so does each row of a probe.
func (r *Run) together(heads []int32) int {
	if r.Entries[heads[0]].Row.Attempts > 0 || r.probe {
		return 1
	}
	n, most := 1, min(r.sink.together(), len(heads))
	for n < most && r.topic(heads[n]) == r.topic(heads[0]) && r.Entries[heads[n]].Row.Attempts == 0 {
		n++
	}
	return n
}

// publish publishes the entries with these indexes, and after a failure each of them
// alone.
func (r *Run) publish(chunk []int32) {
	msgs := make([]*message.Message, len(chunk))
	sending := r.o.Sends.Begin(r.topic(chunk[0]), len(chunk))
	for k, i := range chunk {
		e := &r.Entries[i].Row.Event
		ctx, trace := sending.Send(r.life, traceOf(e))
		msgs[k] = NewMessage(ctx, e, trace)
	}
	mark := r.sink.confirmed.Load()
	err := r.sink.publish(r.life, r.topic(chunk[0]), msgs)
	sending.End(failureOf(err))
	switch {
	case err == nil:
		r.sink.confirmed.Add(int64(len(chunk)))
		for _, i := range chunk {
			r.Entries[i].State = Confirmed
		}
	case len(chunk) == 1:
		r.refuse(&r.Entries[chunk[0]], mark, err)
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

func (r *Run) refuse(e *Entry, mark int64, err error) {
	switch {
	case errors.Is(err, errFull):
		r.full.Store(true)
		e.Err = err
	case r.ctx.Err() != nil: // the stop may have caused the error
	default:
		e.State, e.Err, e.mark = Refused, err, mark
		e.doubted = e.doubted || errors.Is(err, outbox.ErrTooLarge)
		r.refusals.Add(1)
	}
}

const (
	// maxRefusals is after how many refusals a run gives up, if nothing is confirmed.
	maxRefusals = 16
	// probeRows is how many orders, and rows without one, a probe tries, and probeCalls
	// how many at a time.
	probeRows  = 8
	probeCalls = 4
)

// over reports whether to make no further call.
func (r *Run) over() bool {
	return r.full.Load() || r.ctx.Err() != nil || time.Now().After(r.deadline) ||
		!r.probe && r.refusals.Load() >= maxRefusals && r.sink.confirmed.Load() == r.began
}

// Result is the result of a run for the state of the sink.
type Result struct {
	Confirmed int   // rows
	Refusal   error // the last one; nil if there was none
	Outage    bool  // rows were refused, and none confirmed
	Total     int64 // rows that the sink had confirmed in all at the end of the run
}

// Result returns the result of the run for the state of the sink.
func (r *Run) Result() Result {
	v := Result{Total: r.ended}
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.State == Confirmed {
			v.Confirmed++
		}
		if e.Err != nil {
			v.Refusal = e.Err
			v.Outage = v.Outage || e.State != Refused || !r.Counts(e)
		}
	}
	if failed := r.failed.Load(); v.Refusal == nil && failed != nil && r.ctx.Err() == nil {
		v.Refusal, v.Outage = *failed, true
	}
	v.Outage = v.Outage && r.ended == r.began
	return v
}
