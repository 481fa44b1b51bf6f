package alerting

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

const (
	// pollTime is between two looks at the rows, and gapTime the least of it: rows of a
	// storm are counted many at a time.
	pollTime = 2 * time.Second
	gapTime  = 250 * time.Millisecond
	// fullTime is between two looks while no more alerts may be sent.
	fullTime = 10 * time.Second
	// leaseTime is how long a reader that died keeps its namespace. It is longer than a
	// call of the hook and the statements after it.
	leaseTime = 30 * time.Second
	// bookTime bounds the statements of one transaction, lastTime those of the last one
	// where the time to close is over.
	bookTime = 10 * time.Second
	lastTime = time.Second
	// expireTime is how long an alert is kept that nobody passes on.
	expireTime = 24 * time.Hour
	// forgetTime is how long a group has to be silent until its next alert is a first.
	forgetTime = 30 * 24 * time.Hour
	// takeRows is how many rows are counted in a transaction.
	takeRows = 10_000
)

// Store is what a Reader needs of a database. Every store.Store is one.
type Store interface {
	Begin(ctx context.Context) (*txn.Txn, error)
	Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error
	Operations() store.Operations
}

// Reader passes on the alerts that are rows of a database, from a goroutine of its
// own. Its methods are safe for concurrent use.
type Reader struct {
	st         Store
	caller     *Caller
	namespaces []string
	owner      string
	o          alerts.Options
	logger     *slog.Logger
	signal     *outbox.Signal
	poll, gap  time.Duration
	lease      time.Duration
	retry      func(failures int, err error) time.Duration

	full   map[string]time.Time // when to look again at a namespace that is at its limit
	holds  map[string]bool      // the namespaces that it has taken
	failed bool                 // the last look was

	life    context.Context // of everything
	cancel  context.CancelFunc
	closing sync.Once
	close   chan struct{}
	done    chan struct{}
}

// NewReader starts a reader of namespaces: names of consumers, or "" for the relay.
// The caller closes it.
func NewReader(st Store, c *Caller, o alerts.Options, namespaces ...string) *Reader {
	r := newReader(st, c, o, namespaces...)
	go r.run()
	return r
}

func newReader(st Store, c *Caller, o alerts.Options, namespaces ...string) *Reader {
	r := &Reader{
		st: st, caller: c, namespaces: namespaces, owner: uuid.NewString(), o: o.WithDefaults(), logger: c.logger,
		signal: outbox.NewSignal(), poll: pollTime, gap: gapTime, lease: leaseTime, retry: delay, full: make(map[string]time.Time), holds: make(map[string]bool),
		close: make(chan struct{}), done: make(chan struct{}),
	}
	r.life, r.cancel = context.WithCancel(context.Background())
	return r
}

// Wake says that rows were committed. It never blocks.
func (r *Reader) Wake() { r.signal.Wake() }

// Close has the reader look once more, and returns when its goroutine has ended. When
// ctx ends first, what was not passed on is left to the next reader. A hook that does
// not return then is left behind: see Dispatcher.Close. Further calls wait in the
// same way.
func (r *Reader) Close(ctx context.Context) error {
	r.closing.Do(func() { close(r.close) })
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	<-r.done // soon after ctx has ended, as every statement and every call is
	r.cancel()
	return r.caller.Wait(ctx)
}

// run is the goroutine.
func (r *Reader) run() {
	defer close(r.done)
	defer r.release()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-r.signal.C():
		case <-r.close:
			r.look(true)
			return
		}
		if r.look(false) {
			r.signal.Wake()
		}
		if !r.pause() {
			r.look(true)
			return
		}
		timer.Reset(r.poll)
	}
}

// pause waits for the gap between two looks, and reports whether the reader is still
// open.
func (r *Reader) pause() bool {
	gap := time.NewTimer(r.gap)
	defer gap.Stop()
	select {
	case <-gap.C:
		return true
	case <-r.close:
		return false
	}
}

// look works each namespace once, and reports whether there may be more rows. A
// failure of the database is told once.
func (r *Reader) look(last bool) (again bool) {
	for _, namespace := range r.namespaces {
		if !last && time.Now().Before(r.full[namespace]) {
			continue
		}
		more, err := r.round(namespace)
		if err != nil && !r.failed && r.life.Err() == nil {
			r.logger.Warn("alerts: their rows cannot be read or written; trying again", "error", encode.Said(err))
		}
		if r.failed = err != nil; r.failed {
			return false
		}
		again = again || more
	}
	return again
}
