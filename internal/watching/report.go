package watching

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/sleep"
)

// lastTime bounds what a process that ends does still.
const lastTime = 2 * time.Second

// named is what a process may report once at a time.
type named struct {
	kind           alerts.Kind
	handler, topic string
}

// report is what this process says of itself, until it is over.
type report struct {
	alert alerts.Alert
	// row says that it is to be a row, and stored that it is one; direct says that it was sent
	// without one.
	row, stored, direct bool
}

// reports are those of this process. The zero value is ready for use.
type reports struct {
	mu    sync.Mutex
	list  map[named]*report
	dirty bool // rows are not what list says
	ended bool // the watch runs no more
}

// Report says that something is wrong in this process, until Over says that it is not. It becomes
// a row; if the database is away, or the watch does not run, it is sent at once without one. It
// never blocks.
func (w *Watch) Report(a alerts.Alert) {
	if slices.Contains(w.o.Alerts.Bounds.Off, a.Kind) {
		return
	}
	r := &w.reports
	r.mu.Lock()
	defer r.mu.Unlock()
	name := named{a.Kind, a.Handler, a.Topic}
	was, ok := r.list[name]
	if !ok {
		if r.list == nil {
			r.list = make(map[named]*report)
		}
		was = &report{}
		r.list[name] = was
	}
	news := was.alert.Text != a.Text
	was.alert = a
	switch {
	case !r.ended && !w.o.Away():
		was.row, r.dirty = true, true
		w.Wake()
	case news || !was.direct:
		was.direct = true
		w.o.Direct(a)
	}
}

// Over ends a report. If it was sent without a row, so is end.
func (w *Watch) Over(kind alerts.Kind, handler, topic string, end alerts.Alert) {
	r := &w.reports
	r.mu.Lock()
	defer r.mu.Unlock()
	name := named{kind, handler, topic}
	was, ok := r.list[name]
	if !ok {
		return
	}
	delete(r.list, name)
	if was.direct && end.Kind != "" {
		w.o.Direct(end)
	}
	if was.row {
		r.dirty = true
		w.Wake()
	}
}

// take returns what is to be rows. undo is for when it cannot be.
func (r *reports) take() (list []*report, said []alerts.Alert, undo func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	dirty := r.dirty
	undo = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.dirty = r.dirty || dirty
	}
	r.dirty = false
	for _, one := range r.list {
		if one.row {
			list, said = append(list, one), append(said, one.alert)
		}
	}
	return list, said, undo
}

// stored says that what was taken is rows.
func (r *reports) stored(list []*report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range list {
		one.stored = true
	}
}

// refused says that rows cannot be written: what has none is sent without one.
func (r *reports) refused(send func(alerts.Alert)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.list {
		if one.row && !one.stored {
			one.row, one.direct = false, true
			send(one.alert)
		}
	}
}

// state says whether a report is, or is to be, a row, and whether rows are not what they should be.
func (r *reports) state() (open, dirty bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.list {
		open = open || one.row
	}
	return open || r.dirty, r.dirty
}

// end sends what comes from now on without a row.
func (r *reports) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// last writes and sends what this process says of itself, before it ends.
func (w *Watch) last(ctx context.Context, senders []*sender) {
	if open, _ := w.reports.state(); open && w.origin.ID != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
		defer cancel()
		for _, dirty := w.reports.state(); dirty; _, dirty = w.reports.state() {
			if _, err := w.look(ctx, w.o.Consumer, true); err != nil || !sleep.For(ctx, gapTime/10) {
				break
			}
		}
		for _, s := range senders {
			_ = s.work(ctx, w.o.Consumer) // the next process tries again
		}
	}
	w.reports.end()
	w.reports.refused(w.o.Direct)
}

// reported are the reports of this process, and those of others: what a process that is dead or
// has ended said of itself is over.
func (f *facts) reported() (list []condition.Finding) {
	for _, a := range f.reports {
		if c, ok := f.of(a); !ok || c.Instance == f.self || !f.says(c) {
			list = append(list, condition.Finding{Alert: a, Instance: f.self})
		} else {
			list = append(list, condition.Finding{Alert: c.Alert, Unchanged: true})
		}
	}
	for _, c := range f.current {
		own := slices.ContainsFunc(f.reports, func(a alerts.Alert) bool { return is(c, a) })
		if c.Instance != "" && !own && f.says(c) {
			list = append(list, condition.Finding{Alert: c.Alert, Unchanged: true})
		}
	}
	return list
}

// says reports whether the process that reported c, which is not this one, still does.
func (f *facts) says(c condition.Condition) bool {
	return c.Instance != f.self && c.Quiet.IsZero() && slices.ContainsFunc(f.instances, func(i instance.Instance) bool {
		return i.ID == c.Instance && i.Alive()
	})
}
