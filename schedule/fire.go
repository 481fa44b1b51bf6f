package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store"
)

// Errors of Fire; no tick was asked for.
var (
	// ErrUnknown matches the error for a schedule that no process has declared.
	ErrUnknown = errors.New("there is no such schedule")
	// ErrBusy matches the error while the last tick that was asked for waits or works.
	ErrBusy = errors.New("the last tick that was asked for is not done")
)

// Fire asks the processes for a tick of the schedule of that name now. It comes within seconds
// if a process runs, and otherwise when one starts. While the last tick that was asked for
// waits, is postponed or runs, the error matches ErrBusy, so a second click has no effect. It
// does not wait for the tick.
func Fire(ctx context.Context, st store.Store, name, by string) error {
	row, err := Idle(ctx, st, name)
	if err != nil {
		return err
	}
	fired, err := st.Operations().Schedules.Fire(ctx, name, by, row.Fired)
	if err == nil && !fired {
		err = fmt.Errorf("schedule %q: %w: another person has just asked", name, ErrBusy)
	}
	return err
}

// Idle returns the schedule of that name, and the error that Fire would return now. It asks for
// nothing.
func Idle(ctx context.Context, st store.Store, name string) (store.Schedule, error) {
	row, found, err := st.Operations().Schedules.Get(ctx, name)
	switch {
	case err != nil:
		return row, err
	case !found:
		return row, fmt.Errorf("schedule %q: %w", name, ErrUnknown)
	}
	if err := idle(ctx, st, row); err != nil {
		return row, fmt.Errorf("schedule %q: %w", name, err)
	}
	return row, nil
}

// idle returns an error that matches ErrBusy while the last tick that was asked for is not done.
func idle(ctx context.Context, st store.Store, row store.Schedule) error {
	if row.Fired.IsZero() {
		return nil
	}
	asked := fmt.Sprintf("%s asked at %s", row.FiredBy, row.Fired.UTC().Format(time.RFC3339))
	key := firedID(row.Name, row.Fired)
	entries, err := st.Inbox().Find(ctx, key)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.State == inbox.Waiting {
			return fmt.Errorf("%w: %s, and message %s of %s waits or works", ErrBusy, asked, key, e.ID.Scope)
		}
	}
	if len(entries) == 0 && row.Now.Sub(row.Fired) < row.Within { // after that no process makes it
		return fmt.Errorf("%w: %s, and no process has handled it yet", ErrBusy, asked)
	}
	return nil
}

// firedID is the id of the message of a tick that a person asked for.
func firedID(name string, at time.Time) string {
	return name + "@" + at.UTC().Format(time.RFC3339Nano) + "/fired"
}
