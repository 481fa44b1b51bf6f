package gather_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/gather"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writer is what a test's Gatherer writes to.
type writer struct {
	*gather.Gatherer[int]
	began   chan []int    // each write, when it begins
	proceed chan struct{} // lets one write end

	mu       sync.Mutex
	together func([]int) (bool, error) // what batches return
}

func newWriter(t *testing.T) *writer {
	w := &writer{began: make(chan []int, 100), proceed: make(chan struct{}, 100), together: func([]int) (bool, error) { return true, nil }}
	w.Gatherer = &gather.Gatherer[int]{
		Most: 4,
		Together: func(_ context.Context, items []int) (bool, error) {
			w.write(items)
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.together(items)
		},
		Alone: func(ctx context.Context, item int) (bool, error) {
			w.write([]int{item})
			return item%2 == 0, ctx.Err()
		},
	}
	t.Cleanup(func() { close(w.proceed) })
	return w
}

func (w *writer) write(items []int) {
	w.began <- slices.Clone(items)
	<-w.proceed
}

// asked is a caller.
type asked struct {
	item int
	did  bool
	err  error
}

// ask has callers ask for items, one after the other, behind a write that is under way.
func (w *writer) ask(t *testing.T, ctx context.Context, items ...int) <-chan asked {
	t.Helper()
	answers := make(chan asked, len(items))
	for n, item := range items {
		go func() {
			did, err := w.Do(ctx, item)
			answers <- asked{item, did, err}
		}()
		for w.Waiting() != n+1 {
			select {
			case a := <-answers:
				t.Fatalf("%+v did not wait", a)
			default:
			}
		}
	}
	return answers
}

// first begins the write that others wait behind.
func (w *writer) first(item int) <-chan asked {
	answer := make(chan asked, 1)
	go func() {
		did, err := w.Do(context.Background(), item)
		answer <- asked{item, did, err}
	}()
	<-w.began
	return answer
}

func wants(t *testing.T, answers <-chan asked, n int, want func(item int) bool) {
	t.Helper()
	for range n {
		if a := <-answers; a.err != nil || a.did != want(a.item) {
			t.Errorf("%+v", a)
		}
	}
}

func even(item int) bool { return item%2 == 0 }

func yes(int) bool { return true }

// Callers that come during a write share the next one, up to Most.
func TestTogether(t *testing.T) {
	w := newWriter(t)
	first := w.first(1)
	answers := w.ask(t, t.Context(), 3, 5, 7, 9, 11)
	w.proceed <- struct{}{}
	wants(t, first, 1, even)
	if got := <-w.began; !slices.Equal(got, []int{3, 5, 7, 9}) {
		t.Errorf("the batch has %v", got)
	}
	w.proceed <- struct{}{}
	wants(t, answers, 4, yes)
	if got := <-w.began; !slices.Equal(got, []int{11}) {
		t.Errorf("the next one has %v", got)
	}
	w.proceed <- struct{}{}
	wants(t, answers, 1, even)
	w.proceed <- struct{}{}
	if did, err := w.Do(t.Context(), 2); !did || err != nil { // nothing is under way any more
		t.Error(did, err)
	}
}

// After a batch that may not be written, each caller writes its item alone, beside others.
func TestAlone(t *testing.T) {
	for name, says := range map[string]func([]int) (bool, error){
		"not all": func([]int) (bool, error) { return false, nil },
		"failed":  func([]int) (bool, error) { return false, errors.New("the connection is gone") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWriter(t)
			w.together = says
			first := w.first(1)
			answers := w.ask(t, t.Context(), 3, 4, 6)
			w.proceed <- struct{}{}
			wants(t, first, 1, even)
			if got := <-w.began; len(got) != 3 {
				t.Fatalf("the batch has %v", got)
			}
			w.proceed <- struct{}{}
			for range 3 { // all at once: none waits for another
				select {
				case got := <-w.began:
					if len(got) != 1 {
						t.Errorf("%v", got)
					}
				case a := <-answers:
					t.Fatalf("%+v was not written alone", a)
				}
			}
			beside := make(chan asked, 1)
			go func() {
				did, err := w.Do(t.Context(), 8)
				beside <- asked{8, did, err}
			}()
			<-w.began // it writes a batch of its own
			for range 4 {
				w.proceed <- struct{}{}
			}
			wants(t, answers, 3, even)
			wants(t, beside, 1, even)
		})
	}
}

// A caller whose context ends waits no longer, and another one writes.
func TestLeaves(t *testing.T) {
	w := newWriter(t)
	first := w.first(1)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	leaves := w.ask(t, ctx, 2)
	cancel(gone)
	if a := <-leaves; a.did || !errors.Is(a.err, gone) {
		t.Errorf("%+v", a)
	}
	answers := w.ask(t, t.Context(), 4, 6)
	w.proceed <- struct{}{}
	wants(t, first, 1, even)
	if got := <-w.began; !slices.Equal(got, []int{4, 6}) {
		t.Errorf("the batch has %v", got)
	}
	w.proceed <- struct{}{}
	wants(t, answers, 2, yes)
}

// After a batch that panics, each waiting caller writes its item alone.
func TestPanic(t *testing.T) {
	w := newWriter(t)
	w.together = func([]int) (bool, error) { panic("a bug") }
	first := w.first(1)
	leader := make(chan any, 1)
	go func() {
		defer func() { leader <- recover() }()
		_, _ = w.Do(context.Background(), 3)
	}()
	for w.Waiting() != 1 {
	}
	answers := make(chan asked, 1)
	go func() {
		did, err := w.Do(context.Background(), 4)
		answers <- asked{4, did, err}
	}()
	for w.Waiting() != 2 {
	}
	for range 3 {
		w.proceed <- struct{}{}
	}
	wants(t, first, 1, even)
	if got := <-leader; got == nil {
		t.Error("no panic")
	}
	wants(t, answers, 1, even)
	w.proceed <- struct{}{}
	if did, err := w.Do(t.Context(), 2); !did || err != nil {
		t.Error(did, err)
	}
}

// Among many callers each gets its own answer, whatever a batch returns.
func TestMany(t *testing.T) {
	var mu sync.Mutex
	written := make(map[int]int)
	put := func(items ...int) {
		runtime.Gosched() // so that others come meanwhile
		mu.Lock()
		defer mu.Unlock()
		for _, item := range items {
			written[item]++
		}
	}
	g := &gather.Gatherer[int]{
		Most: 16,
		Together: func(_ context.Context, items []int) (bool, error) {
			put(items...)
			if slices.ContainsFunc(items, func(item int) bool { return item%7 == 0 }) {
				return false, nil
			}
			return true, nil
		},
		Alone: func(_ context.Context, item int) (bool, error) {
			put(item)
			return item%7 != 0, nil
		},
	}
	var all sync.WaitGroup
	for n := range 1000 {
		all.Go(func() {
			if did, err := g.Do(t.Context(), n); err != nil || did != (n%7 != 0) {
				t.Errorf("%d: %t, %v", n, did, err)
			}
		})
	}
	all.Wait()
	for n := range 1000 {
		if written[n] == 0 {
			t.Errorf("%d is not written", n)
		}
	}
}

// However callers leave, the next one writes.
func TestManyLeave(t *testing.T) {
	g := &gather.Gatherer[int]{
		Most:     4,
		Together: func(context.Context, []int) (bool, error) { return true, nil },
		Alone:    func(context.Context, int) (bool, error) { return true, nil },
	}
	var all sync.WaitGroup
	for n := range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() { _, _ = g.Do(ctx, n) })
		all.Go(cancel)
	}
	all.Wait()
	if did, err := g.Do(t.Context(), 1); !did || err != nil || g.Waiting() != 0 {
		t.Error(did, err, g.Waiting())
	}
}
