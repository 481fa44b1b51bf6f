package group

import (
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/backlog"
)

// work is a lease in hand.
type work struct {
	task   *Task
	ctx    context.Context // ends with the lease
	cancel context.CancelCauseFunc
	// end cancels at the end of the lease by our own clock, which goes on while the
	// process is stopped: nobody may work under a lease that could be another's.
	end *time.Timer
	// stuck says that the work was left behind, and has its slot.
	stuck bool
}

// begin has task worked on until its lease ends.
func (l *leaser) begin(task *Task, end time.Time) {
	w := &work{task: task}
	w.ctx, w.cancel = context.WithCancelCause(l.e.hard)
	w.end = time.AfterFunc(time.Until(end), func() { w.cancel(ErrLeaseLost) })
	l.mu.Lock()
	l.held[w] = struct{}{}
	l.mu.Unlock()
	l.works.Go(func() {
		l.work(w)
		w.end.Stop()
		w.cancel(nil)
		l.mu.Lock()
		delete(l.held, w)
		l.mu.Unlock()
		if l.e.o.Care != nil {
			l.e.o.Care.GiveBack(1)
		}
		if !w.stuck {
			<-l.slots
		}
	})
}

// beat extends what is in hand, until ended is closed.
func (l *leaser) beat(ended <-chan struct{}) {
	ticker := time.NewTicker(l.o.Term / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
			l.extend()
		}
	}
}

// extend extends all leases in hand. Where it cannot, their own ends go on.
func (l *leaser) extend() {
	l.mu.Lock()
	works := make([]*work, 0, len(l.held))
	for w := range l.held {
		works = append(works, w)
	}
	l.mu.Unlock()
	if len(works) == 0 {
		return
	}
	leases := make([]backlog.Lease, len(works))
	for i, w := range works {
		leases[i] = w.task.lease()
	}
	before := time.Now()
	extended, locked, err := l.extendAll(leases)
	if err != nil {
		return
	}
	for i, w := range works {
		switch {
		case slices.Contains(extended, leases[i]):
			w.end.Reset(time.Until(before.Add(l.o.Term)))
		case !slices.Contains(locked, leases[i]): // or has ended meanwhile, where this does nothing
			w.cancel(ErrLeaseLost)
		}
	}
}

func (l *leaser) extendAll(leases []backlog.Lease) (extended, locked []backlog.Lease, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.e.hard), l.o.Term/3)
	defer cancel()
	t, err := l.e.st.Begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer t.Rollback()
	if extended, locked, err = l.e.st.Backlog().Leases.Extend(ctx, t, leases, l.o.Term); err != nil {
		return nil, nil, err
	}
	return extended, locked, l.e.st.Commit(ctx, t, nil)
}
