package child

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// ErrStopped is the error of a scene that the user has ended.
var ErrStopped = errors.New("stopped before all was done")

// IdleTimeout is how long a scene waits without progress.
const IdleTimeout = time.Minute

// Work is what a child has to do.
type Work struct {
	// Total is how much there is, and Done says how much of it is done.
	Total int
	Done  func(context.Context) (int, error)
	// Says is what is so when it is done, One what may be lost: "orders are done", "an order".
	Says, One string
	// Meanwhile is called between two looks.
	Meanwhile func(context.Context) error
}

// Settle waits until the work of the child "worker", which logs to dir, is done. It returns an
// error if there is no progress for IdleTimeout, and ErrStopped if ctx ends.
func (w Work) Settle(ctx context.Context, dir string) error {
	deadline, last := time.Now().Add(IdleTimeout), -1
	for {
		done, err := w.Done(ctx)
		if err != nil || done == w.Total {
			return err
		}
		if done != last {
			deadline, last = time.Now().Add(IdleTimeout), done
		}
		if err := w.Meanwhile(ctx); err != nil {
			return err
		}
		switch {
		case ctx.Err() != nil:
			return ErrStopped
		case time.Now().After(deadline):
			return fmt.Errorf("%d of %d %s, and there is no progress: %s is lost, or %s says why", done, w.Total, w.Says, w.One, filepath.Join(dir, "worker.log"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}
