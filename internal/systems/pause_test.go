package systems_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/ledger"
)

// table is a table of pauses in memory.
type table struct {
	mu            sync.Mutex
	reads, writes int
	list          []ledger.SystemPause
	err           error
}

func (t *table) Pause(_ context.Context, p ledger.SystemPause) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes++
	t.list = append(t.list, p)
	return true, t.err
}

func (t *table) Known(context.Context, string) (bool, error) { return true, nil }

func (t *table) Resume(context.Context, string, string) (bool, error) { return false, nil }

func (t *table) List(context.Context) ([]ledger.SystemPause, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reads++
	return t.list, t.err
}

func (t *table) set(err error, list ...ledger.SystemPause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err, t.list = err, list
}

// All steps of a process read the pauses once a second, and without steps nothing reads. A
// database that does not answer changes nothing that is known.
func TestPausesAreReadOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := &table{list: []ledger.SystemPause{{System: "bank", Left: time.Hour}, {System: "erp", Left: -time.Hour}}}
		s := systems.New(nil, rows)
		paused := func(system string) bool { return s.Paused(t.Context(), system) != nil }
		var steps sync.WaitGroup
		for range 10 {
			steps.Go(func() {
				for range 20 { // 2 s
					if !paused("bank") || paused("erp") || paused("shop") {
						t.Error("bank is not paused, or another is")
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		steps.Wait()
		if rows.reads != 2 {
			t.Errorf("%d reads in 2 s", rows.reads)
		}
		time.Sleep(time.Minute)
		if rows.reads != 2 {
			t.Error("it reads without steps")
		}
		rows.set(errors.New("away"))
		if !paused("bank") {
			t.Error("an error ended the pause")
		}
		rows.set(nil)
		time.Sleep(time.Second)
		if paused("bank") {
			t.Error("the resume is not seen after a second")
		}
	})
}

// A hundred answers 429 at once write once: the row would be hot.
func TestLimitedWritesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := &table{}
		s := systems.New(nil, rows)
		for range 100 {
			if err := s.Limited(t.Context(), "bank", time.Minute); err != nil {
				t.Error(err)
			}
		}
		if rows.writes != 1 {
			t.Errorf("%d writes", rows.writes)
		}
		if err := s.Paused(t.Context(), "bank"); err == nil {
			t.Error("not paused")
		}
	})
}

// Messages come back at different times, none before the end of a short pause, and none
// so late that a resume is not seen.
func TestDelay(t *testing.T) {
	for left, most := range map[time.Duration]time.Duration{2 * time.Second: 3 * time.Second, 30 * time.Second: 40 * time.Second, time.Hour: 70 * time.Second} {
		e := &systems.PausedError{System: "bank", Left: left}
		seen := make(map[time.Duration]bool)
		for n := range 100 {
			d := e.Delay(fmt.Sprint("order:", n))
			if d < min(left, time.Minute) || d > most {
				t.Errorf("%s of %s", d, left)
			}
			seen[d.Round(10*time.Millisecond)] = true
		}
		if len(seen) < 30 {
			t.Errorf("%d different delays of %s", len(seen), left)
		}
	}
}
