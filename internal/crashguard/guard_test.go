package crashguard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/crashguard"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options are in a hurry.
func options() crashguard.Options {
	return crashguard.Options{
		Pace:    crashguard.Pace{Look: 5 * time.Millisecond, Beat: 10 * time.Millisecond, Missed: 200 * time.Millisecond, Most: time.Minute, Beside: time.Minute},
		Process: crashguard.NewProcess(), LeftBehind: func() bool { return false }, Work: func() instance.Work { return instance.Work{} }, Schema: func(context.Context) (string, error) { return "id", nil }, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// process is a guard that can die: nothing is written any more then.
type process struct {
	*crashguard.Guard
	f     *enginetest.Fixture
	id    string
	dead  atomic.Bool
	marks atomic.Int64
	// refused counts beats of the dead.
	refused atomic.Int64
	last    atomic.Pointer[instance.Mark]
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

var errDead = errors.New("the process is dead")

type instances struct {
	instance.Store
	p *process
}

type marks struct {
	marksStore
	p *process
}

// marksStore has another name than its method.
type marksStore interface{ instance.Marks }

func (m marks) Mark(ctx context.Context, mark instance.Mark) error {
	if m.p.dead.Load() {
		return errDead
	}
	m.p.marks.Add(1)
	m.p.last.Store(&mark)
	return m.marksStore.Mark(ctx, mark)
}

func (m marks) Clear(ctx context.Context, consumer string, message instance.Hash) error {
	if m.p.dead.Load() {
		return errDead
	}
	return m.marksStore.Clear(ctx, consumer, message)
}

func (i instances) Beat(ctx context.Context, id string, w instance.Work) error {
	if i.p.dead.Load() {
		i.p.refused.Add(1)
		return errDead
	}
	return i.Store.Beat(ctx, id, w)
}

// start starts a process of the consumer, and waits until it knows the others.
func start(f *enginetest.Fixture, id string, o crashguard.Options) *process {
	p := &process{f: f, id: id}
	operations := f.Store.Operations()
	p.Guard = crashguard.New(instances{operations.Instances, p}, marks{operations.Marks, p}, instance.Instance{ID: id, Consumer: enginetest.Consumer}, o)
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.ended.Go(func() { p.Run(ctx) })
	f.Cleanup(p.die)
	p.Advise(f.Context(), nil) // waits
	return p
}

// die ends it unexpectedly.
func (p *process) die() {
	p.dead.Store(true)
	p.stop()
	p.ended.Wait()
}

// end ends it in order.
func (p *process) end() {
	p.f.Helper()
	p.stop()
	p.ended.Wait()
	if err := p.End(context.Background()); err != nil {
		p.f.Error(err)
	}
}

func id(key string) inbox.ID { return inbox.ID{Scope: "s", Key: key} }

func ids(keys ...string) (list []inbox.ID) {
	for _, key := range keys {
		list = append(list, id(key))
	}
	return list
}

// runs has messages run, and the process die or go on meanwhile.
func (p *process) runs(dies, alone bool, keys ...string) {
	p.f.Helper()
	leave, err := p.Enter(p.f.Context(), ids(keys...), alone)
	if err != nil {
		p.f.Fatal(err)
	}
	if dies {
		p.die()
	}
	leave(!dies)
}

// advice waits until a message has this advice.
func (p *process) advice(key string, want batch.Advice) {
	p.f.Helper()
	p.f.Eventually(fmt.Sprint("the advice for ", key, " is ", want), func() bool {
		a := p.Advise(p.f.Context(), ids("other", key))
		return a == nil && want == batch.Together || a != nil && a[0] == batch.Together && a[1] == want
	})
}

// markingEnds waits until batches are not marked.
func (p *process) markingEnds() {
	p.f.Helper()
	p.f.Eventually("marking ends", func() bool { return !p.Marking() })
}

// While no process ended unexpectedly, nothing is marked and the guard need not be asked; a clean
// end leaves no marks.
func TestNothingIsMarkedWithoutAnUncleanEnd(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		first := start(f, "first", options())
		first.markingEnds()
		first.runs(false, false, "a", "b")
		if first.Advises() || first.Advise(f.Context(), ids("a")) != nil || first.marks.Load() != 0 {
			f.Errorf("advises %t, %d marks", first.Advises(), first.marks.Load())
		}
		first.end()
		second := start(f, "second", options())
		if second.Marking() || second.Advises() {
			f.Error("it marks after a clean end")
		}
		second.end()
		if n := f.Count("SELECT count(*) FROM headrace_marks"); n != 0 {
			f.Errorf("%d marks", n)
		}
	})
}

// After an unclean end batches are marked, before they run and in one row for each that
// runs, until no process has died for a while.
func TestMarks(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		o := options()
		o.Missed = 3 * time.Second / 2 // which it marks at least: time enough for both marks on a slow machine
		start(f, "first", o).die()
		p := start(f, "second", o)
		if !p.Marking() || !p.Advises() {
			f.Fatal("nothing is marked")
		}
		leave, err := p.Enter(f.Context(), ids("a", "b"), false)
		if err != nil {
			f.Fatal(err)
		}
		leave2, err := p.Enter(f.Context(), ids("c"), false)
		if err != nil {
			f.Fatal(err)
		}
		list, err := f.Store.Operations().Marks.Marks(f.Context(), enginetest.Consumer, "")
		if err != nil || len(list) != 2 || len(list[0].Messages) != 2 || list[0].Messages[0] != instance.HashOf(id("a")) || list[0].Alone || list[1].Worker == list[0].Worker {
			f.Errorf("marks %+v, %v", list, err)
		}
		leave(true)
		leave2(true)
		p.runs(false, false, "d") // over a mark
		if n := f.Count("SELECT count(*) FROM headrace_marks"); n > 2 {
			f.Errorf("%d marks", n)
		}
		f.Eventually("idle marks are cleared", func() bool { return f.Count("SELECT count(*) FROM headrace_marks") == 0 })
		if a := p.Advise(f.Context(), ids("a", "b", "c", "d")); a != nil {
			f.Errorf("advice %v", a)
		}
		p.markingEnds()
		before := p.marks.Load()
		p.runs(false, false, "e")
		if p.marks.Load() != before {
			f.Error("it marks, and no process died lately")
		}
		p.end()
	})
}

// The log does not say that a process ended unexpectedly when a second one starts beside
// the first, or after it ended in order, though it marks until it knows that.
func TestOrdinaryStartsAreNotLogged(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var log lines
		o := options()
		o.Missed = time.Minute // however slow the machine is
		start(f, "first", o).end()
		second := start(f, "second", o)
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		third := start(f, "third", o)
		third.markingEnds()
		second.end()
		third.end()
		if log.has("ended unexpectedly") > 0 || log.has("marked") > 0 {
			f.Error("the log says that messages are marked")
		}
		o.Missed = 200 * time.Millisecond
		start(f, "fourth", options()).die()
		fifth := start(f, "fifth", o)
		f.Eventually("the death is logged", func() bool { return log.has("another process of the consumer ended unexpectedly") == 1 })
		if log.has("which is slower") != 1 || log.has("instance=fourth for=") != 1 {
			f.Error("the log does not say which process it was, and for how long messages are marked")
		}
		f.Eventually("and that it is over", func() bool { return log.has("not marked any more") == 1 })
		fifth.end()
	})
}

// What was marked when its process died is suspected, and runs alone; it is cleared when
// its handler returns.
func TestSuspects(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		o := options()
		start(f, "first", o).die()
		start(f, "second", o).runs(true, false, "a", "b")
		p := start(f, "third", o)
		p.advice("a", batch.Alone)
		p.advice("b", batch.Alone)
		p.advice("c", batch.Together)
		leave, err := p.Enter(f.Context(), ids("a"), true)
		if err != nil {
			f.Fatal(err)
		}
		if m := p.last.Load(); !m.Alone || !slices.Equal(m.Messages, []instance.Hash{instance.HashOf(id("a"))}) {
			f.Errorf("mark %+v", m)
		}
		leave(true)
		if n := f.Count("SELECT count(*) FROM headrace_suspects"); n != 1 {
			f.Errorf("%d suspects", n)
		}
		p.advice("a", batch.Together)
		p.advice("b", batch.Alone)
		p.runs(false, false, "b") // it passes beside others: it is none
		p.advice("b", batch.Together)
		p.end()
		if n := f.Count("SELECT count(*) FROM headrace_suspects"); n != 0 {
			f.Errorf("%d suspects", n)
		}
	})
}

// While suspects are known, the guard advises, although nothing is marked any more.
func TestSuspectsOutliveMarking(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		o := options()
		start(f, "first", o).die()
		start(f, "second", o).runs(true, false, "a")
		p := start(f, "third", o)
		p.advice("a", batch.Alone)
		p.markingEnds()
		if !p.Advises() {
			f.Error("a visit would not ask")
		}
		p.advice("a", batch.Alone)
		p.runs(false, true, "a")
		f.Eventually("no message is suspected", func() bool { return !p.Advises() })
		p.end()
	})
}

// A suspect whose handler did not run stays one.
func TestSuspectThatDidNotRun(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		o := options()
		start(f, "first", o).die()
		start(f, "second", o).runs(true, false, "a")
		p := start(f, "third", o)
		p.advice("a", batch.Alone)
		leave, err := p.Enter(f.Context(), ids("a"), true)
		if err != nil {
			f.Fatal(err)
		}
		leave(false)
		if n := f.Count("SELECT count(*) FROM headrace_suspects"); n != 1 {
			f.Errorf("%d suspects", n)
		}
		if n := f.Count("SELECT count(*) FROM headrace_marks"); n != 0 {
			f.Errorf("%d marks", n)
		}
		p.end()
	})
}

// Three deaths as the only work, and the message is not run again.
func TestThreeDeathsAlone(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		o := options()
		start(f, "p0", o).die()
		start(f, "p1", o).runs(true, false, "killer", "innocent")
		for n := range 3 {
			p := start(f, fmt.Sprint("alone", n), o)
			p.advice("killer", batch.Alone)
			p.runs(true, true, "killer")
		}
		p := start(f, "last", o)
		p.advice("killer", batch.Never)
		p.advice("innocent", batch.Alone)
		p.runs(false, false, "killer") // its letter is committed
		p.advice("killer", batch.Together)
		p.end()
	})
}

// Ten deaths beside other work count as much; each instance counts once, however many see it.
func TestTenDeathsBeside(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		o := options()
		o.Missed = 6 * time.Second // the living are not to be taken for dead, however slow the machine is
		start(f, "p0", o).die()
		var first []*process
		for n := range 9 {
			first = append(first, start(f, fmt.Sprint("beside", n), o))
		}
		for _, p := range first {
			p.runs(true, false, "killer", "other"+p.id)
		}
		watchers := []*process{start(f, "a", o), start(f, "b", o)}
		f.Eventually("nine deaths are counted", func() bool {
			return f.Count("SELECT count(*) FROM headrace_suspects WHERE beside = 9") == 1
		})
		for _, p := range watchers {
			p.advice("killer", batch.Alone)
		}
		watchers[0].runs(true, false, "killer", "x") // it was a batch before it was suspected
		watchers[1].advice("killer", batch.Never)
		watchers[1].end()
		if n := f.Count("SELECT count(*) FROM headrace_suspects WHERE alone > 0 OR beside > 10"); n != 0 {
			f.Errorf("%d suspects have deaths too many", n)
		}
	})
}

// While it is not known whether another process lives, what it marked waits, and nothing
// else does; a beat ends that.
func TestMessagesOfAProcessInQuestion(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		o := options()
		start(f, "first", o).die()
		second := start(f, "second", o)
		leave, err := second.Enter(f.Context(), ids("a"), false)
		if err != nil {
			f.Fatal(err)
		}
		second.stop() // it is frozen
		second.ended.Wait()
		o.Missed = time.Minute
		third := start(f, "third", o)
		third.advice("a", batch.Later)
		if !third.Marking() {
			f.Error("it does not mark")
		}
		f.Eventually("the message may run", func() bool {
			if err := f.Store.Operations().Instances.Beat(f.Context(), "second", instance.Work{}); err != nil {
				f.Fatal(err)
			}
			return third.Advise(f.Context(), ids("a")) == nil
		})
		leave(true)
		if err := second.End(f.Context()); err != nil {
			f.Error(err)
		}
		third.end()
	})
}

// A suspect that runs for long lets others in; its mark says so first, and its death
// counts as one beside others.
func TestBeside(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		o := options()
		o.Beside = time.Millisecond
		p := start(f, "p", o)
		leave, err := p.Enter(f.Context(), ids("slow"), true)
		if err != nil {
			f.Fatal(err)
		}
		other, err := p.Enter(f.Context(), ids("other"), false) // waits until it may
		if err != nil {
			f.Fatal(err)
		}
		if n := f.Count("SELECT count(*) FROM headrace_marks WHERE worker = 0 AND NOT (CAST(alone AS TEXT) IN ('1', 'true'))"); n != 1 {
			f.Error("its mark says that it is the only work")
		}
		other(true)
		leave(true)
		p.end()
	})
}

// A handler that was left behind is work too: no message is the only one then.
func TestLeftBehind(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		o := options()
		o.LeftBehind = func() bool { return true }
		p := start(f, "p", o)
		leave, err := p.Enter(f.Context(), ids("a"), true)
		if err != nil || p.last.Load().Alone {
			f.Errorf("%v, mark %+v", err, p.last.Load())
		}
		leave(true)
		p.end()
	})
}

// A mark that cannot be written keeps the messages from running, and holds up nothing else.
func TestMarkThatFails(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		start(f, "first", options()).die()
		p := start(f, "second", options())
		p.dead.Store(true)
		for _, alone := range []bool{true, false} {
			if _, err := p.Enter(f.Context(), ids("a"), alone); !errors.Is(err, errDead) {
				f.Errorf("alone %t: %v", alone, err)
			}
		}
		p.dead.Store(false)
		p.runs(false, true, "a")
		p.runs(false, false, "a")
		p.end()
	})
}

// Before the guard knows the others, messages wait; a stop ends that.
func TestEnterBeforeTheStart(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		operations := f.Store.Operations()
		g := crashguard.New(operations.Instances, operations.Marks, instance.Instance{ID: "x", Consumer: "c"}, options())
		ctx, cancel := context.WithCancelCause(f.Context())
		cancel(errDead)
		if _, err := g.Enter(ctx, ids("a"), false); !errors.Is(err, errDead) {
			f.Error(err)
		}
		if a := g.Advise(ctx, ids("a")); a != nil {
			f.Error(a)
		}
		if err := g.End(f.Context()); err != nil { // there is no row to end
			f.Error(err)
		}
		if list, err := operations.Instances.List(f.Context(), "c"); err != nil || len(list) != 0 {
			f.Errorf("%v, %v", list, err)
		}
	})
}

// An instance whose row was forgotten starts again; what fails for a while is logged once, and when
// it works again.
func TestForgottenInstance(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var log lines
		o := options()
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		p := start(f, "p", o)
		f.Exec("DELETE FROM headrace_instances")
		f.Eventually("it has a row", func() bool { return f.Count("SELECT count(*) FROM headrace_instances") == 1 })
		p.dead.Store(true)
		f.Eventually("several beats fail", func() bool { return p.refused.Load() > 3 && log.has("cannot beat") > 0 })
		p.dead.Store(false)
		f.Eventually("it says so", func() bool { return log.has("can beat again") > 0 })
		if n := log.has("cannot beat"); n != 1 {
			f.Errorf("said %d times", n)
		}
		p.end()
	})
}

// A schema that cannot be read is tried again, before any message runs; one that left this
// build behind is fatal. The id is the newest that was read.
func TestSchema(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		answers, fatal := make(chan error), make(chan error, 1)
		o := options()
		o.Schema = func(ctx context.Context) (string, error) {
			select {
			case err := <-answers:
				return "id", err
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		o.Fatal = func(err error) { fatal <- err }
		operations := f.Store.Operations()
		g := crashguard.New(operations.Instances, operations.Marks, instance.Instance{ID: "x", Consumer: "c"}, o)
		ctx, stop := context.WithCancel(f.Context())
		var running sync.WaitGroup
		running.Go(func() { g.Run(ctx) })
		answers <- errDead
		answers <- nil
		if !g.Started(f.Context()) || g.Database() != "id" {
			f.Errorf("the id is %q", g.Database())
		}
		answers <- errDead
		answers <- fmt.Errorf("left behind: %w", store.ErrSchema)
		if err := <-fatal; !errors.Is(err, store.ErrSchema) || len(fatal) != 0 || g.Database() != "id" {
			f.Errorf("%v; the id is %q", err, g.Database())
		}
		stop()
		running.Wait()
	})
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) has(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}
