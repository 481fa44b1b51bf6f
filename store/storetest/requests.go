package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/headrace/headrace/instance"
)

var requestTests = []test{
	{name: "a request is taken once, done, and answered once", run: requestLife},
	{name: "it is taken by a process that it names, which knows its kind", run: requestChoice},
	{name: "what it has of a message goes with the answer", run: requestContent},
	{name: "it is not taken after its time", run: requestOver},
	{name: "what no process answered expires, and keeps no content", run: requestExpired},
	{name: "of many processes each request has one", run: requestRace},
	{name: "a form that is sent twice asks once", run: requestOnce},
	{name: "what is no request is refused", run: requestRefused},
	{name: "one that has ended long ago is forgotten", run: requestForgotten},
}

var pod1 = instance.Instance{ID: "i1", Consumer: "billing", Host: "pod-1", Build: "v1"}

func (b *bundle) ask(r instance.Request, valid time.Duration) int64 {
	b.Helper()
	id, err := b.Store.Operations().Requests.Ask(b.ctx, r, valid)
	b.must(err)
	return id
}

// takeRequest returns the id of what is taken, 0 for none.
func (b *bundle) takeRequest(self instance.Instance, kinds ...string) int64 {
	b.Helper()
	r, ok, err := b.Store.Operations().Requests.Take(b.ctx, self, kinds)
	b.must(err)
	if ok != (r.ID != 0) {
		b.Errorf("%+v, %t", r, ok)
	}
	return r.ID
}

func (b *bundle) asked(id int64) (instance.Request, instance.Answer) {
	b.Helper()
	r, a, ok, err := b.Store.Operations().Requests.Get(b.ctx, id)
	if b.must(err); !ok {
		b.Fatalf("no request %d", id)
	}
	return r, a
}

func requestLife(b *bundle) {
	requests := b.Store.Operations().Requests
	if b.takeRequest(pod1, "plan") != 0 {
		b.Error("taken before it was asked")
	}
	id := b.ask(instance.Request{Kind: "plan", Consumer: "billing", Args: []byte(`{"group":"7f3a"}`), By: "ana", Reason: "a fix\x00"}, time.Minute)
	r, a := b.asked(id)
	if r.ID != id || r.Kind != "plan" || string(r.Args) != `{"group":"7f3a"}` || r.By != "ana" || !strings.HasPrefix(r.Reason, "a fix") ||
		r.Until.Sub(r.At).Round(time.Second) != time.Minute || r.Left <= 50*time.Second || r.Left > time.Minute ||
		a.State != instance.RequestWaiting || a.Value != nil || a.Instance != "" {
		b.Errorf("%+v, %+v", r, a)
	}
	// The login that asked; SQLite has none.
	if (r.DBUser == "") == b.harness.ConcurrentWriters {
		b.Errorf("the login is %q", r.DBUser)
	}
	taken, ok, err := requests.Take(b.ctx, pod1, []string{"apply", "plan"})
	if b.must(err); !ok || taken.ID != id || string(taken.Args) != string(r.Args) || taken.By != "ana" || taken.DBUser != r.DBUser || !taken.Until.Equal(r.Until) {
		b.Errorf("%t, %+v", ok, taken)
	}
	if _, a := b.asked(id); a.State != instance.RequestTaken || a.Instance != "i1" || a.TakenBy != "pod-1, v1" {
		b.Errorf("%+v", a)
	}
	if b.takeRequest(pod1, "plan") != 0 {
		b.Error("taken twice")
	}
	for _, other := range []string{"i2", "i1", "i1"} {
		value := `{"from":"` + other + `"}`
		b.must(requests.Answer(b.ctx, id, instance.Instance{ID: other}, instance.Answer{State: instance.RequestDone, Value: []byte(value)}))
		b.must(requests.Answer(b.ctx, id, instance.Instance{ID: other}, instance.Answer{State: instance.RequestFailed, Error: "late"}))
	}
	if _, a := b.asked(id); a.State != instance.RequestDone || string(a.Value) != `{"from":"i1"}` || a.Error != "" {
		b.Errorf("%+v, %s", a, a.Value)
	}
	if _, _, ok, err := requests.Get(b.ctx, id+1); ok || err != nil {
		b.Errorf("%t, %v", ok, err)
	}
}

func requestChoice(b *bundle) {
	canary := b.ask(instance.Request{Kind: "rehearse", Consumer: "billing", Build: "v2"}, time.Minute)
	host := b.ask(instance.Request{Kind: "plan", Consumer: "billing", Host: "pod-2"}, time.Minute)
	any := b.ask(instance.Request{Kind: "plan", Consumer: "billing"}, time.Minute)
	later := b.ask(instance.Request{Kind: "plan", Consumer: "billing"}, time.Minute)
	other := pod1
	other.Consumer = "shipping"
	for _, c := range []struct {
		name  string
		self  instance.Instance
		kinds []string
		want  int64
	}{
		{"another consumer", other, []string{"plan", "rehearse"}, 0},
		{"a kind that was not asked for", pod1, []string{"apply"}, 0},
		{"no kind", pod1, []string{}, 0},
		{"another build and host: the oldest of the rest", pod1, []string{"plan", "rehearse"}, any},
		{"the build", instance.Instance{ID: "i2", Consumer: "billing", Build: "v2"}, []string{"rehearse"}, canary},
		{"the host, which is older", instance.Instance{ID: "i3", Consumer: "billing", Host: "pod-2"}, []string{"plan"}, host},
		{"the rest", pod1, []string{"plan"}, later},
	} {
		if got := b.takeRequest(c.self, c.kinds...); got != c.want {
			b.Errorf("%s: took %d, not %d", c.name, got, c.want)
		}
	}
}

// What a request says of a message's content goes when it is answered.
//
//evidence:requests
func requestContent(b *bundle) {
	for kind, want := range map[string]string{"edit": "null", "resolve-step": "null", "send-signal": "null", "erase-steps": `{"key":"k"}`} {
		id := b.ask(instance.Request{Kind: kind, Consumer: "billing", Args: []byte(`{"key":"k"}`)}, time.Minute)
		b.takeRequest(pod1, kind)
		for _, state := range []instance.RequestState{instance.RequestTaken, instance.RequestDone} {
			if r, _ := b.asked(id); string(r.Args) != `{"key":"k"}` {
				b.Errorf("%s, not answered: %s", kind, r.Args)
			}
			b.must(b.Store.Operations().Requests.Answer(b.ctx, id, pod1, instance.Answer{State: state, Value: []byte("1")}))
			if report := b.check(); !report.OK() {
				b.Errorf("%s is %s: %+v", kind, state, report.Rules)
			}
		}
		if r, _ := b.asked(id); string(r.Args) != want {
			b.Errorf("%s, answered: %s", kind, r.Args)
		}
	}
}

//evidence:requests
func requestOver(b *bundle) {
	id := b.ask(instance.Request{Kind: "plan", Consumer: "billing"}, 30*time.Second)
	b.shift(time.Hour)
	if b.takeRequest(pod1, "plan") != 0 {
		b.Error("taken an hour later")
	}
	if r, a := b.asked(id); a.State != instance.RequestWaiting || r.Left > -59*time.Minute {
		b.Errorf("%+v, %+v", r, a)
	}
	if b.ask(instance.Request{Kind: "plan", Consumer: "billing"}, 30*time.Second) != b.takeRequest(pod1, "plan") {
		b.Error("a new one is not taken")
	}
}

// A request whose process has died says so for longer, but what it asked for goes, too.
//
//evidence:requests
func requestExpired(b *bundle) {
	requests := b.Store.Operations().Requests
	r := instance.Request{Kind: "edit", Consumer: "billing", Args: []byte(`{"payload":"secret"}`)}
	taken := b.ask(r, time.Minute)
	b.takeRequest(pod1, "edit")
	done := b.ask(instance.Request{Kind: "plan", Consumer: "billing", Args: []byte(`{"text":"word"}`)}, time.Minute)
	b.takeRequest(pod1, "plan")
	b.must(requests.Answer(b.ctx, done, pod1, instance.Answer{State: instance.RequestDone, Value: []byte("1")}))
	waiting := b.ask(r, time.Minute)
	b.shift(2 * time.Hour)
	young := b.ask(r, time.Minute)
	for range 2 {
		b.must(requests.Expire(b.ctx, time.Hour))
		for id, want := range map[int64]string{taken: "taken null", waiting: "expired null", done: `done {"text":"word"}`, young: `waiting {"payload":"secret"}`} {
			if r, a := b.asked(id); string(a.State)+" "+string(r.Args) != want {
				b.Errorf("request %d is %s with %s, not %s", id, a.State, r.Args, want)
			}
		}
	}
	if got := b.takeRequest(pod1, "edit"); got != young {
		b.Errorf("took %d", got)
	}
}

//evidence:requests
func requestOnce(b *bundle) {
	first, other := b.Store.Operations().Requests, b.Reopen().Operations().Requests
	r := instance.Request{Kind: "plan", Consumer: "billing", Once: strings.Repeat("f", 64)}
	if id, err := first.Asked(b.ctx, r.Once); id != 0 || err != nil {
		b.Errorf("before: %d, %v", id, err)
	}
	ids := make(chan int64, 6)
	for i := range cap(ids) {
		go func() {
			id, err := []instance.Requests{first, other}[i%2].Ask(b.ctx, r, time.Minute)
			if err != nil {
				b.Error(err)
			}
			ids <- id
		}()
	}
	id := <-ids
	for range cap(ids) - 1 {
		if next := <-ids; next != id || id == 0 {
			b.Errorf("request %d, and then %d", id, next)
		}
	}
	asked, err := other.Asked(b.ctx, r.Once)
	if b.must(err); asked != id || b.takeRequest(pod1, "plan") != id || b.takeRequest(pod1, "plan") != 0 {
		b.Errorf("%d is %d, or was taken twice", id, asked)
	}
	r.Once = ""
	if one, two := b.ask(r, time.Minute), b.ask(r, time.Minute); one == two {
		b.Error("without a form a second request is none")
	}
	if none, err := first.Asked(b.ctx, ""); none != 0 || err != nil {
		b.Errorf("without a form: %d, %v", none, err)
	}
}

//evidence:requests
func requestRace(b *bundle) {
	const rounds, processes = 20, 4
	stores := []instance.Requests{b.Store.Operations().Requests, b.Reopen().Operations().Requests}
	for range rounds {
		want := b.ask(instance.Request{Kind: "plan", Consumer: "billing"}, time.Minute)
		taken := make(chan int64, processes)
		for n := range processes {
			go func() {
				r, _, err := stores[n%2].Take(b.ctx, pod1, []string{"plan"})
				if err != nil {
					b.Error(err)
				}
				taken <- r.ID
			}()
		}
		sum := int64(0)
		for range processes {
			sum += receive(b, taken)
		}
		if sum != want {
			b.Fatalf("request %d was taken %d/%d times", want, sum, want)
		}
	}
}

func requestRefused(b *bundle) {
	requests := b.Store.Operations().Requests
	for _, name := range []string{"", "a/b", "nul\x00"} {
		if _, err := requests.Ask(b.ctx, instance.Request{Kind: "plan", Consumer: name}, time.Minute); !errors.Is(err, instance.ErrInvalid) {
			b.Errorf("consumer %q: %v", name, err)
		}
	}
	for what, r := range map[string]instance.Request{
		"kind": {Consumer: "billing", Kind: "\x00"}, "host": {Consumer: "billing", Host: "\xff"}, "args": {Consumer: "billing", Args: []byte("{")},
	} {
		if _, err := requests.Ask(b.ctx, r, time.Minute); err == nil {
			b.Errorf("a bad %s was taken", what)
		}
	}
	for _, valid := range []time.Duration{0, -time.Second, instance.MaxValid + 1} {
		if _, err := requests.Ask(b.ctx, instance.Request{Kind: "plan", Consumer: "billing"}, valid); err == nil {
			b.Errorf("%s was taken", valid)
		}
	}
}

func requestForgotten(b *bundle) {
	requests := b.Store.Operations().Requests
	old := b.ask(instance.Request{Kind: "plan", Consumer: "billing"}, time.Minute)
	b.shift(2 * time.Hour)
	young := b.ask(instance.Request{Kind: "plan", Consumer: "billing"}, time.Minute)
	b.must(requests.Forget(b.ctx, time.Hour))
	if _, _, ok, err := requests.Get(b.ctx, old); ok || err != nil {
		b.Errorf("%t, %v", ok, err)
	}
	b.asked(young)
}
