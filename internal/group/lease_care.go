package group

import (
	"context"

	"github.com/headrace/headrace/store/txn"
)

// claimWithCare claims at most n rows, as many as it may now. While the process is
// cautious that is none: a message that is written down is then the only work, whatever
// lasts for long under a lease.
func (l *leaser) claimWithCare(n int) (int, error) {
	care := l.e.o.Care
	if care == nil {
		return l.claim(n)
	}
	if n = care.Lease(l.e.h.Scope, n); n == 0 {
		return 0, nil
	}
	taken, err := l.claim(n)
	care.GiveBack(n - taken)
	return taken, err
}

// chooseAlone returns those of tasks, just claimed in t, that are to be worked on now,
// and gives the others back in t. A message that has lost so many leases that the next
// would be the last is worked on as the only one in this process: so no other message
// loses its leases with the one that ends its process.
func (l *leaser) chooseAlone(ctx context.Context, t *txn.Txn, tasks []*Task, n int) ([]*Task, error) {
	if l.e.o.Care == nil {
		return tasks, nil
	}
	var suspects, others []*Task
	for _, task := range tasks {
		suspect, err := l.suspect(ctx, t, task)
		if err != nil {
			return nil, err
		}
		if suspect {
			suspects = append(suspects, task)
		} else {
			others = append(others, task)
		}
	}
	if len(suspects) == 0 {
		return tasks, nil
	}
	begin, back := others, suspects
	if l.e.o.Care.OnlyLease(l.e.h.Scope, n) {
		begin, back = suspects[:1], append(others, suspects[1:]...)
	}
	if len(back) == 0 {
		return begin, nil
	}
	return begin, l.e.st.Backlog().Leases.GiveBack(ctx, t, leasesOf(back))
}

// suspect reports whether one more lost lease gives the message up. Hardly any has had
// so many starts that it has to be asked for.
func (l *leaser) suspect(ctx context.Context, t *txn.Txn, task *Task) (bool, error) {
	if task.item.Starts < lostLimit {
		return false, nil
	}
	lost, err := l.e.st.Backlog().Leases.Lost(ctx, t, task.ID(), task.item.Spent)
	return lost >= lostLimit-1, err
}
