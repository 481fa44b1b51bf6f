package sleep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/internal/sleep"
)

func TestFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if !sleep.For(ctx, time.Second) || time.Since(start) != time.Second {
			t.Errorf("waited %s", time.Since(start))
		}
		if sleep.For(ctx, time.Hour) || time.Since(start) != time.Minute {
			t.Errorf("waited %s", time.Since(start))
		}
		if sleep.For(ctx, 0) {
			t.Error("a context that has ended is no reason to go on")
		}
	})
}

func TestOutlast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		longer, stop := sleep.Outlast(ctx, time.Second)
		defer stop()
		if <-longer.Done(); time.Since(start) != time.Minute+time.Second {
			t.Errorf("ended after %s", time.Since(start))
		}
		longer, stop = sleep.Outlast(ctx, time.Hour)
		stop()
		if <-longer.Done(); time.Since(start) != time.Minute+time.Second {
			t.Errorf("stop ended it after %s", time.Since(start))
		}
	})
}
