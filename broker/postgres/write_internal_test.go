package postgres

import (
	"testing"
	"testing/synctest"
	"time"
)

// Settlements that come one after the other are written together while most of the held
// messages are not settled; where few are held, or many come at once, none waits.
func TestSettlementsAreWrittenTogether(t *testing.T) {
	for name, c := range map[string]struct {
		held, waiting int
		ahead         int32
		every         time.Duration // between those that come later
		want          int
		took          time.Duration
	}{
		"one after the other": {held: 256, every: 3 * time.Millisecond, want: 17, took: linger},
		"slowly":              {held: 256, every: time.Second, want: 1, took: linger},
		"many at once":        {held: 256, waiting: 63, every: time.Millisecond, want: 64},
		"until they are many": {held: 80, every: time.Millisecond, want: 10, took: 9 * time.Millisecond},
		"more than it takes":  {held: 80, ahead: 60, every: 5 * time.Millisecond, want: 10, took: linger},
		"the only one":        {held: 1, every: time.Millisecond, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &subscription{held: make(map[int64]*delivery), settled: make(chan *delivery, 256)}
				b.ahead.Store(c.ahead)
				for id := range c.held {
					b.held[int64(id)] = &delivery{}
				}
				for range c.waiting {
					b.settled <- &delivery{}
				}
				done := make(chan struct{})
				go func() {
					for {
						select {
						case <-done:
							return
						case <-time.After(c.every):
							b.settled <- &delivery{}
						}
					}
				}()
				start := time.Now()
				got := b.more([]*delivery{{}})
				took := time.Since(start)
				close(done)
				if len(got) != c.want || took != c.took {
					t.Errorf("%d after %s, want %d after %s", len(got), took, c.want, c.took)
				}
			})
		})
	}
}
