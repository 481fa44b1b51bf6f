package maintenance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// process takes and answers requests as a process of the consumer does, until the test or stop ends it.
func process(f *enginetest.Fixture, id string, st store.Store, actions map[string]instance.Action) (stop func()) {
	f.Helper()
	self := instance.Instance{ID: id, Consumer: enginetest.Consumer, Host: "pod-" + id, Build: "v1"}
	if err := f.Store.Operations().Instances.Start(f.Context(), self); err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		newRequestWorker(Options{Store: st, Instance: self, Actions: actions, Logger: slog.New(slog.DiscardHandler)}).run(ctx)
	})
	stop = func() { cancel(); running.Wait() }
	f.Cleanup(stop)
	return stop
}

func asker(f *enginetest.Fixture) instance.Asker {
	o := f.Store.Operations()
	return instance.Asker{Requests: o.Requests, Instances: o.Instances, Every: 10 * time.Millisecond}
}

func ask(f *enginetest.Fixture, kind string, out any) error {
	ctx, cancel := context.WithTimeout(f.Context(), enginetest.Bound)
	defer cancel()
	return asker(f).Ask(ctx, instance.Request{Kind: kind, Consumer: enginetest.Consumer, Args: []byte(`{"n":20}`), By: "ana"}, instance.Valid, out)
}

func TestAProcessAnswers(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		process(f, "1", f.Store, map[string]instance.Action{
			"echo": func(_ context.Context, r instance.Request) (any, error) { return r.By + string(r.Args), nil },
			"refuse": func(context.Context, instance.Request) (any, error) {
				return nil, fmt.Errorf("%w: expired", instance.ErrRefused)
			},
			"fail":  func(context.Context, instance.Request) (any, error) { return nil, errors.New("no luck") },
			"panic": func(context.Context, instance.Request) (any, error) { panic("secret") },
			"odd":   func(context.Context, instance.Request) (any, error) { return func() {}, nil },
		})
		var value string
		if err := ask(f, "echo", &value); err != nil || value != `ana{"n":20}` {
			f.Errorf("%q, %v", value, err)
		}
		if err := ask(f, "refuse", nil); !errors.Is(err, instance.ErrRefused) || err.Error() != "refused: expired" {
			f.Error(err)
		}
		if err := ask(f, "fail", nil); err == nil || errors.Is(err, instance.ErrRefused) || err.Error() != "no luck" {
			f.Error(err)
		}
		if err := ask(f, "panic", nil); err == nil || !strings.Contains(err.Error(), "panicked") || strings.Contains(err.Error(), "secret") {
			f.Error(err)
		}
		if err := ask(f, "odd", nil); err == nil || !strings.Contains(err.Error(), "unsupported type") {
			f.Error(err)
		}
	})
}

// An action that lasts holds up those of its kind only.
func TestOneActionOfAKindRuns(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		begun, end := make(chan int64), make(chan struct{})
		process(f, "1", f.Store, map[string]instance.Action{
			"rehearse": func(_ context.Context, r instance.Request) (any, error) {
				begun <- r.ID
				<-end
				return nil, nil
			},
			"pause": func(context.Context, instance.Request) (any, error) { return nil, nil },
		})
		var asking sync.WaitGroup
		for range 2 {
			asking.Go(func() {
				if err := ask(f, "rehearse", nil); err != nil {
					f.Error(err)
				}
			})
		}
		first := <-begun
		if err := ask(f, "pause", nil); err != nil {
			f.Error(err)
		}
		select {
		case second := <-begun:
			f.Errorf("%d runs beside %d", second, first)
		default:
		}
		end <- struct{}{}
		if second := <-begun; second == first {
			f.Error("it ran twice")
		}
		close(end)
		asking.Wait()
	})
}

// A long action says how far it is to the person who waits for its answer.
func TestProgress(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		seen := make(chan struct{})
		process(f, "1", f.Store, map[string]instance.Action{
			"restore": func(ctx context.Context, _ instance.Request) (any, error) {
				instance.Progress(ctx, "half of it")
				<-seen
				return "all of it", nil
			},
		})
		var far []string
		a := asker(f)
		a.Taken = func(a instance.Answer) {
			if a.Value != nil && len(far) == 0 {
				far = append(far, string(a.Value))
				close(seen)
			}
		}
		var value string
		err := a.Ask(f.Context(), instance.Request{Kind: "restore", Consumer: enginetest.Consumer, By: "ann"}, instance.Valid, &value)
		if err != nil || value != "all of it" || !slices.Equal(far, []string{`"half of it"`}) {
			f.Errorf("%q after %q, %v", value, far, err)
		}
	})
}

// slow takes a request, and gives it to the process too late.
type slow struct{ instance.Requests }

func (s slow) Take(ctx context.Context, self instance.Instance, kinds []string) (instance.Request, bool, error) {
	r, ok, err := s.Requests.Take(ctx, self, kinds)
	if ok {
		time.Sleep(instance.TakeTime + time.Millisecond)
	}
	return r, ok, err
}

// slowStore has such requests.
type slowStore struct{ *enginetest.Store }

func (s slowStore) Operations() store.Operations {
	o := s.Store.Operations()
	o.Requests = slow{o.Requests}
	return o
}

// Who asked was told that nothing was done: so nothing is.
//
//evidence:requests
func TestARequestThatWasTakenTooLateIsRefused(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		process(f, "1", slowStore{f.Store}, map[string]instance.Action{
			"plan": func(context.Context, instance.Request) (any, error) { f.Error("done too late"); return nil, nil },
		})
		if err := ask(f, "plan", nil); !errors.Is(err, instance.ErrRefused) || !strings.Contains(err.Error(), "too long") {
			f.Error(err)
		}
	})
}

// A process that stops ends its action, and still answers.
func TestAStoppingProcessAnswers(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		begun := make(chan struct{})
		stop := process(f, "1", f.Store, map[string]instance.Action{
			"plan": func(ctx context.Context, _ instance.Request) (any, error) {
				close(begun)
				<-ctx.Done()
				return nil, errors.New("the process stops")
			},
		})
		answered := make(chan error, 1)
		go func() { answered <- ask(f, "plan", nil) }()
		<-begun
		stop()
		if err := <-answered; err == nil || err.Error() != "the process stops" {
			f.Error(err)
		}
	})
}

// Who asked is told who could have answered, and which process took it and died.
//
//evidence:requests
func TestNobodyAnswers(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		instances := f.Store.Operations().Instances
		says := func(err, is error, words ...string) {
			f.Helper()
			if !errors.Is(err, is) {
				f.Errorf("%v is not %v", err, is)
				return
			}
			for _, w := range words {
				if !strings.Contains(err.Error(), w) {
					f.Errorf("%q does not say %q", err, w)
				}
			}
		}
		says(ask(f, "plan", nil), instance.ErrNoAnswer, "no process of test answers; none ran in the last hour. Nothing was done")
		for _, id := range []string{"1", "2"} {
			process(f, id, f.Store, nil)()
			if err := instances.End(f.Context(), id); err != nil {
				f.Fatal(err)
			}
		}
		says(ask(f, "plan", nil), instance.ErrNoAnswer, "there were 2 until", "the last beat on pod-")

		// One runs, of an older release; it takes the request and dies.
		process(f, "3", f.Store, map[string]instance.Action{"other": nil})
		answered := make(chan error, 1)
		go func() { answered <- ask(f, "plan", nil) }()
		self := instance.Instance{ID: "3", Consumer: enginetest.Consumer, Host: "pod-3", Build: "v1"}
		take := func() bool {
			_, ok, err := f.Store.Operations().Requests.Take(f.Context(), self, []string{"plan"})
			if err != nil {
				f.Fatal(err)
			}
			return ok
		}
		for !take() {
			time.Sleep(time.Millisecond)
		}
		if err := instances.End(f.Context(), "3"); err != nil {
			f.Fatal(err)
		}
		says(<-answered, instance.ErrLost, "pod-3, v1", "It may have done it")
	})
}

// oldStore has requests whose time counts as over for an hour more than it is.
type oldStore struct{ *enginetest.Store }

type old struct{ instance.Requests }

func (o old) Expire(ctx context.Context, age time.Duration) error {
	return o.Requests.Expire(ctx, age-time.Hour)
}

func (s oldStore) Operations() store.Operations {
	o := s.Store.Operations()
	o.Requests = old{o.Requests}
	return o
}

// What no process did is told as that also later, and what was asked for is not kept.
//
//evidence:requests
func TestARequestExpires(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		requests := f.Store.Operations().Requests
		id, err := requests.Ask(f.Context(), instance.Request{Kind: "edit", Consumer: "test", Args: []byte(`{"payload":"secret"}`)}, time.Microsecond)
		if err != nil {
			f.Fatal(err)
		}
		process(f, "1", oldStore{f.Store}, map[string]instance.Action{"plan": nil})
		f.Eventually("the request has expired", func() bool {
			_, a, _, err := requests.Get(f.Context(), id)
			return err == nil && a.State == instance.RequestExpired
		})
		r, _, done, err := asker(f).Look(f.Context(), id)
		if done || !errors.Is(err, instance.ErrNoAnswer) || string(r.Args) != "null" || !strings.Contains(err.Error(), "has expired: no process of test took it by") || !strings.HasSuffix(err.Error(), "Nothing was done") {
			f.Errorf("%t, %s: %v", done, r.Args, err)
		}
	})
}

// A request whose kind no process knows is not done later either.
func TestATimeThatIsOver(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		process(f, "1", f.Store, map[string]instance.Action{"other": nil})
		ctx, cancel := context.WithTimeout(f.Context(), enginetest.Bound)
		defer cancel()
		err := asker(f).Ask(ctx, instance.Request{Kind: "plan", Consumer: enginetest.Consumer}, time.Millisecond, nil)
		if !errors.Is(err, instance.ErrNoAnswer) || !strings.Contains(err.Error(), "1 running, and none took a request of the kind plan") {
			f.Error(err)
		}
	})
}
