package alerting

import (
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/store"
)

const (
	// pollTime is the time between two looks at the rows, gapTime the least time, so that
	// many rows of a storm are counted together.
	pollTime = 2 * time.Second
	gapTime  = 250 * time.Millisecond
	// fullTime is the time between two looks while no more alerts may be sent.
	fullTime = 10 * time.Second
	// leaseTime is how long a dead reader keeps its namespace. It is longer than a call
	// of the hook and the statements after it.
	leaseTime = 30 * time.Second
	// storeTimeout bounds the statements of one transaction, lastTime those of the last
	// one if the time to close is over.
	storeTimeout = 10 * time.Second
	lastTime     = time.Second
	// expireTime is how long an alert is kept that cannot be sent.
	expireTime = 24 * time.Hour
	// forgetTime is how long a group must be silent until its next alert counts as the
	// first.
	forgetTime = 30 * 24 * time.Hour
	// takeRows is how many rows are counted in a transaction.
	takeRows = 10_000
)

// Reader sends the alerts that are rows of a database, in its own goroutine. Its methods
// are safe for concurrent use.
type Reader struct {
	*worker
	st         store.Store
	namespaces []string
	owner      string
	o          alerts.Options
	poll, gap  time.Duration
	lease      time.Duration
	retry      func(failures int, err error) time.Duration

	full   map[string]time.Time // when to look again at a namespace that has reached its limit
	holds  map[string]bool      // the namespaces that it has taken
	failed bool                 // the last look failed
}

// NewReader starts a reader of namespaces: names of consumers, or "" for the relay.
// The caller closes it.
func NewReader(st store.Store, c *Caller, o alerts.Options, namespaces ...string) *Reader {
	r := newReader(st, c, o, namespaces...)
	go r.run()
	return r
}

func newReader(st store.Store, c *Caller, o alerts.Options, namespaces ...string) *Reader {
	return &Reader{
		worker: newWorker(c), st: st, namespaces: namespaces, owner: uuid.NewString(), o: o.WithDefaults(),
		poll: pollTime, gap: gapTime, lease: leaseTime, retry: delay, full: make(map[string]time.Time), holds: make(map[string]bool),
	}
}

// Wake tells the reader that rows were committed. It never blocks.
func (r *Reader) Wake() { r.signal.Wake() }

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
		select { // a close must not wait for the gap
		case <-time.After(r.gap):
		case <-r.close:
		}
		timer.Reset(r.poll)
	}
}

// look works each namespace once, and reports whether there may be more rows. It logs
// only the first of several failures of the database.
func (r *Reader) look(last bool) (again bool) {
	for _, namespace := range r.namespaces {
		if !last && time.Now().Before(r.full[namespace]) {
			continue
		}
		more, err := r.work(namespace)
		if err != nil && !r.failed && r.life.Err() == nil {
			r.caller.logger.Warn("alerts: their rows cannot be read or written; trying again", "error", encode.Said(err))
		}
		if r.failed = err != nil; r.failed {
			return false
		}
		again = again || more
	}
	return again
}
