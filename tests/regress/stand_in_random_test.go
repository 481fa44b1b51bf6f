package regress

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/fault"
)

// Whatever happens to a message whose key cannot be computed for a while (deliveries, deploys
// that mend and break the key function, redrives with and without a key, deaths of the
// process), its effects are there once.
//
//evidence:undecodable
func TestStandInKeysAtRandom(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		run, runs := 0, 8
		if f.driver != onFile {
			runs = 2 // a round trip costs more there, and the rules are the same
		}
		rapid.Check(f.T, func(t *rapid.T) {
			if run == runs {
				return
			}
			w := &keyWorld{fixture: f, t: t, run: run, header: misspelt}
			run++
			w.start()
			steps := map[string]func(*rapid.T){
				"deliver": w.deliverOne, "deploy": w.deploy, "redrive": w.redrive, "give a key": w.giveKey,
				"die": w.dieNext, "redrive dies": w.redriveDies,
			}
			for range rapid.IntRange(4, 12).Draw(t, "steps") {
				steps[rapid.SampledFrom(slices.Sorted(maps.Keys(steps))).Draw(t, "step")](t)
			}
			w.settle()
		})
	})
}

// keyWorld is a consumer whose key function comes and goes.
type keyWorld struct {
	*fixture
	t      *rapid.T
	run    int
	header string
	p      *process
	sent   map[int]bool

	mu   sync.Mutex
	at   fault.Point   // where the process dies; "" for nowhere
	died chan struct{} // closed then
}

var errDead = errors.New("the process is dead")

// number returns the number of message i of this run.
func (w *keyWorld) number(i int) int { return w.run*100 + i }

// start starts a process that dies at a point if dieNext asks for it.
func (w *keyWorld) start() {
	died := make(chan struct{})
	w.mu.Lock()
	w.at, w.died = "", died
	w.mu.Unlock()
	st := fault.Store(w.st, func(p fault.Point) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		select {
		case <-died:
			return errDead
		default:
		}
		if w.died == died && p == w.at {
			close(died)
			return errDead
		}
		return nil
	})
	config := w.config()
	config.DrainTimeout = 50 * time.Millisecond
	c := w.consumer(st, config)
	consumer.Handle(c, topic, insertKey, consumer.Key(inbox.Header(w.header)))
	w.p = w.fixture.start(c)
}

// restart starts another process in place of the one that ends.
func (w *keyWorld) restart() {
	_ = w.p.halt() // of a dead one it is an error
	w.start()
}

// reaches waits until done holds, or the process is dead: then another one starts, and it
// reports false.
func (w *keyWorld) reaches(what string, done func() bool) bool {
	dead := false
	w.eventually(what, func() bool {
		select {
		case <-w.died:
			dead = true
		default:
		}
		return dead || done()
	})
	if dead {
		w.restart()
	}
	return !dead
}

func settled(m *message.Message) bool {
	select {
	case <-m.Acked():
	case <-m.Nacked():
	default:
		return false
	}
	return true
}

// deliver delivers a message until it is acknowledged.
func (w *keyWorld) deliver(i int) {
	if w.sent == nil {
		w.sent = make(map[int]bool)
	}
	w.sent[i] = true
	for again := true; again; {
		m := w.deliverKeyed(w.number(i))
		again = !w.reaches("a message is settled", func() bool { return settled(m) })
	}
}

func (w *keyWorld) deliverOne(t *rapid.T) { w.deliver(rapid.IntRange(0, 2).Draw(t, "message")) }

// deploy mends or breaks the key function.
func (w *keyWorld) deploy(t *rapid.T) {
	w.header = rapid.SampledFrom([]string{keyHeader, misspelt}).Draw(t, "header")
	w.restart()
}

func (w *keyWorld) dieNext(t *rapid.T) {
	points := []fault.Point{fault.AfterClaim, fault.BeforeCommit, fault.AfterCommit, fault.LetterBeforeCommit, fault.LetterAfterCommit}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = rapid.SampledFrom(points).Draw(t, "point")
}

// idle waits until no work is left.
func (w *keyWorld) idle() {
	idle := func() bool {
		d, err := w.st.Backlog().Depth(w.Context(), name)
		return err == nil && d.Ready+d.Delayed+d.Blocked+d.Leased == 0
	}
	for !w.reaches("the backlog is worked off", idle) {
	}
}

func (w *keyWorld) redrive(*rapid.T) {
	w.redriveAll()
	w.idle()
}

// redriveDies redrives with a process that dies at its commit.
func (w *keyWorld) redriveDies(t *rapid.T) {
	at := rapid.SampledFrom([]fault.Point{fault.RedriveBeforeCommit, fault.RedriveAfterCommit}).Draw(t, "point")
	st := fault.Store(w.st, func(p fault.Point) error {
		if p == at {
			return errDead
		}
		return nil
	})
	_, _ = redrive.New(st).Redrive(w.Context(), redrive.Request{All: true, By: "ana"})
	w.idle()
}

// giveKey redrives a letter under the key of its message, which may be taken.
func (w *keyWorld) giveKey(t *rapid.T) {
	letters, err := redrive.New(w.st).List(w.Context(), dlq.Filter{}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(letters) == 0 {
		return
	}
	letter, err := w.st.Letters().Get(w.Context(), letters[0].LetterID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = redrive.New(w.st).Redrive(w.Context(), redrive.Request{
		Filter: dlq.Filter{IDs: []int64{letter.LetterID}}, NewKey: letter.Delivery.Metadata[keyHeader], By: "ana",
	})
	if err != nil && !errors.Is(err, redrive.ErrKeyTaken) {
		t.Fatal(err)
	}
	w.idle()
}

// settle mends the key function, redrives and delivers everything again.
func (w *keyWorld) settle() {
	w.header = keyHeader
	w.restart()
	w.redriveAll()
	w.idle()
	for _, header := range []string{keyHeader, misspelt, keyHeader} {
		w.header = header
		w.restart()
		for i := range w.sent {
			w.deliver(i)
		}
		w.redriveAll()
		w.idle()
	}
	for i := range w.sent {
		if n := appliedWith(w.fixture, w.number(i)); n != 1 {
			w.t.Errorf("message %d was applied %d times", i, n)
		}
	}
	if n := w.count("SELECT count(*) FROM effects WHERE msg <> 'k' || CAST(n AS TEXT)"); n > 0 {
		w.t.Errorf("%d effects under another key than the message's own", n)
	}
	for _, l := range w.letters() {
		if l.State == dlq.Open {
			w.t.Errorf("letter %d is open: %s", l.LetterID, l.Error)
		}
	}
	if err := w.p.halt(); err != nil {
		w.t.Error(fmt.Errorf("halt: %w", err))
	}
}
