package postgres

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/internal/flow"
)

// subscription is one call of Subscribe. One goroutine takes messages and hands them
// over, one writes their settlements, and each message has one that waits for its
// settlement.
type subscription struct {
	o      SourceOptions
	all    statements
	ask    *asking
	topic  string
	made   int64 // when the queue was made, by the database's clock
	holder int64 // identifies this subscription in the rows that it holds
	out    chan *message.Message
	wake   chan struct{} // there may be room, or paused has changed
	paused atomic.Bool
	ctx    context.Context
	cancel context.CancelFunc

	writing context.Context // ends CloseTimeout after ctx
	stop    context.CancelFunc

	mu       sync.Mutex
	held     map[int64]*delivery // taken and not settled
	settling sync.WaitGroup
	settled  chan *delivery
	ahead    atomic.Int32 // messages that are fetched and that the caller has not taken
	bytes    flow.Bytes
	health   flow.Health
	unsaved  atomic.Pointer[error] // why settlements cannot be written; nil if they can
	trouble  bool                  // for the taking goroutine: it fails, which was logged
	looked   time.Time             // when it last saw that the queue exists
	mark     int64                 // the id below which no row was due just now; 0 is the bottom
	bottom   time.Time             // when it last read from the bottom

	bottomRest time.Duration // how long until it must do so again
}

// delivery is a message that this process has taken.
type delivery struct {
	id       int64
	msg      *message.Message
	orderKey string
	sent     time.Time
	size     int
	forget   context.CancelFunc // ends the message's context
	acked    bool
	delay    time.Duration // before it may be delivered again, if it was not acked
}

// run runs the subscription until its end.
func (b *subscription) run() {
	defer b.stop()
	context.AfterFunc(b.ctx, func() { time.AfterFunc(b.o.CloseTimeout, b.stop) })
	var writing sync.WaitGroup
	writing.Go(b.write)
	b.take()
	b.cancel()
	b.settling.Wait()
	close(b.settled)
	writing.Wait()
	close(b.out)
}

// take takes messages and hands them over until the subscription ends.
func (b *subscription) take() {
	for b.ctx.Err() == nil {
		room := min(b.o.Window-b.holding(), b.bytes.Room())
		if room <= 0 || b.paused.Load() {
			b.rest(time.Hour)
			continue
		}
		taken, err := b.fetch(room)
		switch {
		case err != nil && b.ctx.Err() == nil:
			if !b.trouble {
				b.o.Logger.Warn("messages cannot be taken from the queue; it is tried again", "topic", b.topic, "error", err)
			}
			b.trouble = true
			b.health.Is(err)
			b.rest(time.Second)
			continue
		case b.trouble && err == nil:
			b.o.Logger.Info("messages can be taken from the queue again", "topic", b.topic)
			b.trouble = false
		}
		if err == nil {
			b.health.Is(nil)
		}
		b.handOver(taken)
		if len(taken) == 0 {
			if b.gone() {
				b.o.Logger.Error("the queue is gone; the subscription ends", "topic", b.topic, "group", b.o.Group)
				return
			}
			b.rest(b.o.Poll)
		}
	}
}

// handOver passes the messages to the caller; it gives back those that the caller has not
// taken before a pause or the end.
func (b *subscription) handOver(taken []*delivery) {
	defer b.ahead.Store(0)
	for i, d := range taken {
		b.ahead.Store(int32(len(taken) - i - 1))
		for waiting := true; waiting; {
			select {
			case b.out <- d.msg:
				b.settling.Go(func() { b.settle(d) })
				waiting = false
				continue
			case <-b.wake:
			case <-b.ctx.Done():
			}
			if delay := b.o.NackDelay; b.paused.Load() || b.ctx.Err() != nil {
				if b.ctx.Err() != nil {
					delay = 0
				}
				for _, d := range taken[i:] {
					d.delay = delay
					d.forget()
					b.settled <- d
				}
				return
			}
		}
	}
}

// settle waits until d is settled.
func (b *subscription) settle(d *delivery) {
	select {
	case <-d.msg.Acked():
	case <-d.msg.Nacked():
	case <-b.ctx.Done():
	}
	d.forget()
	select { // a settlement counts, even if the subscription ended at the same time
	case <-d.msg.Acked():
		d.acked = true
	case <-d.msg.Nacked():
		d.delay = b.o.NackDelay
	default:
	}
	b.settled <- d
}

// rest waits for d, or for a wake-up.
func (b *subscription) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.wake:
	case <-b.ctx.Done():
	}
}

func (b *subscription) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *subscription) holding() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.held)
}

// lookEvery is how often an idle subscription checks that its queue exists.
const lookEvery = 2 * time.Second

// gone reports whether the queue was removed, or removed and made again.
func (b *subscription) gone() bool {
	if time.Since(b.looked) < lookEvery {
		return false
	}
	made, err := b.madeAt(b.ctx)
	if err == nil {
		b.looked = time.Now()
	}
	return errors.Is(err, sql.ErrNoRows) || err == nil && made != b.made
}

// madeAt is when the queue was made, in microseconds.
func (b *subscription) madeAt(ctx context.Context) (made int64, err error) {
	return ask(ctx, b.ask, initTime, func(ctx context.Context, conn *sql.Conn) (made int64, err error) {
		err = conn.QueryRowContext(ctx, b.all.get("made"), b.topic, b.o.Group).Scan(&made)
		return made, err
	})
}
