//go:build unix

package nemesis

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/tests/torture/history"
	"github.com/headrace/headrace/tests/torture/workload"
)

// crash is a kill -9 at a point.
func crash(p fault.Point) Fault {
	f := Fault{Name: string(p), Says: "kill -9 at the point " + string(p), Least: each}
	switch {
	case p == fault.PruneBetween:
		f.Prunes = true
		f.Run = func(ctx context.Context, w *World) (int, error) { return crashPrune(ctx, w, p) }
	case strings.HasPrefix(string(p), "redrive"):
		f.Run = func(ctx context.Context, w *World) (int, error) { return crashRedrive(ctx, w, p) }
	default:
		f.Run = func(ctx context.Context, w *World) (int, error) { return crashWork(ctx, w, p) }
	}
	return f
}

const (
	// reachTime is how long a point may take to be reached.
	reachTime = 2 * time.Minute
	// careTime is after how long children that started together are known to each other,
	// and work in groups.
	careTime = 4500 * time.Millisecond
)

// atMost is the highest n for which a point is worth waiting for.
func atMost(p fault.Point) int {
	switch {
	case strings.HasPrefix(string(p), "letter"):
		return 2
	case strings.HasPrefix(string(p), "relay"):
		return 6
	}
	return 15
}

func crashWork(ctx context.Context, w *World, p fault.Point) (hits int, err error) {
	if !w.warm { // the first of a scenario dies in the midst of groups, others one at a time as well
		w.warm = true
		sleep(ctx, careTime)
	}
	for k := range w.Kills {
		c := w.Child(k)
		select {
		case <-c.ready:
		case <-ctx.Done():
			return hits, ctx.Err()
		}
		c.Arm(p, 1+w.Rand.IntN(atMost(p)))
		exit, ended := c.Wait(reachTime)
		if !ended {
			return hits, fmt.Errorf("%s is not reached within %s", p, reachTime)
		}
		if exit.Killed && exit.Point == p {
			hits++
			w.Hit(string(p), "the process is gone")
		}
		w.await(ctx, k, c)
	}
	return hits, nil
}

// await waits until another child works in place of c.
func (w *World) await(ctx context.Context, i int, c *Child) {
	for ctx.Err() == nil && w.Child(i) == c {
		sleep(ctx, 5*time.Millisecond)
	}
}

func crashRedrive(ctx context.Context, w *World, p fault.Point) (hits int, err error) {
	for range w.Kills {
		for range 3 {
			id, err := w.Generator.One(workload.Plain, workload.Curable)
			if err != nil {
				return hits, err
			}
			if err := w.letter(ctx, id, reachTime); err != nil {
				return hits, err
			}
		}
		exit, err := w.run(workload.Redrive, p, 1)
		if err != nil {
			return hits, err
		}
		if exit.Killed && exit.Point == p {
			hits++
			w.Hit(string(p), "the process is gone")
		}
		// Two at once mend what it left, and meet.
		errs := make(chan error, 2)
		for range cap(errs) {
			go func() { errs <- w.Redrive() }()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				return hits, err
			}
		}
	}
	return hits, nil
}

// letter waits until the message id has a letter.
func (w *World) letter(ctx context.Context, id string, timeout time.Duration) error {
	for end := time.Now().Add(timeout); ; sleep(ctx, 20*time.Millisecond) {
		n, err := w.System().Store.Letters().Count(ctx, dlq.Filter{Key: id, AnyState: true})
		if err == nil && n > 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s has no letter within %s (%v)", id, timeout, err)
		}
	}
}

// old is how many messages each prune is to remove.
const old = 40

func crashPrune(ctx context.Context, w *World, p fault.Point) (hits int, err error) {
	for range w.Kills {
		if err := w.age(ctx); err != nil {
			return hits, err
		}
		exit, err := w.run(workload.Prune, p, 1) // a store may walk far in one batch
		if err != nil {
			return hits, err
		}
		if exit.Killed && exit.Point == p {
			hits++
			w.Hit(string(p), "the process is gone")
		}
	}
	_, err = w.run(workload.Prune, "", 0)
	return hits, err
}

// age sends messages that come only once, and makes their records old.
func (w *World) age(ctx context.Context) error {
	ids, err := w.Generator.Once(old)
	if err != nil {
		return err
	}
	probe := w.Probe()
	for _, id := range ids {
		for end := time.Now().Add(reachTime); !w.Acked(id); sleep(ctx, 10*time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("%s is not acknowledged within %s", id, reachTime)
			}
		}
		if err := w.Log.Sync(history.Entry{Op: history.Aged, ID: id}); err != nil {
			return err
		}
		// SQLite's lock has no queue: beside busy writers a statement may have no turn.
		for end := time.Now().Add(reachTime); ; sleep(ctx, 10*time.Millisecond) {
			err := probe.Age(ctx, id)
			if err == nil {
				break
			}
			if ctx.Err() != nil || time.Now().After(end) {
				return fmt.Errorf("age: %w", err)
			}
		}
	}
	return nil
}

func killRandomly(ctx context.Context, w *World) (hits int, err error) {
	for k := range w.Kills {
		sleep(ctx, time.Duration(50+w.Rand.IntN(900))*time.Millisecond)
		c := w.Child(k)
		c.Signal(syscall.SIGKILL)
		if exit, ended := c.Wait(5 * time.Second); ended && exit.Killed {
			hits++
			w.Hit("kill", "the process is gone")
		}
		w.await(ctx, k, c)
	}
	return hits, nil
}

func terminate(ctx context.Context, w *World) (hits int, err error) {
	for k := range w.Kills {
		c := w.Child(k)
		select {
		case <-c.ready:
		case <-ctx.Done():
			return hits, ctx.Err()
		}
		sleep(ctx, time.Duration(200+w.Rand.IntN(800))*time.Millisecond)
		c.Signal(syscall.SIGTERM)
		exit, ended := c.Wait(stopTime)
		if !ended || !exit.Ended {
			return hits, fmt.Errorf("after SIGTERM the child did not end in order within %s: %+v", stopTime, exit)
		}
		hits++
		w.Hit("term", "it ended in order")
		w.await(ctx, k, c)
	}
	return hits, nil
}

// crashTime bounds how long it takes to find a message that kills.
const crashTime = 3 * time.Minute

func killer(ctx context.Context, w *World) (int, error) {
	id, err := w.Generator.One(workload.Plain, workload.Killer)
	if err != nil {
		return 0, err
	}
	if err := w.letter(ctx, id, crashTime); err != nil {
		return 0, err
	}
	w.Hit("killer", "it has a letter")
	return 1, nil
}

// zombieTime is beyond the source's session, a lease, and what the server lets a
// transaction idle: the handler's timeout, a grace and five seconds.
const zombieTime = workload.HandlerTimeout + 14*time.Second

func zombie(ctx context.Context, w *World) (int, error) {
	sleep(ctx, time.Second)
	c := w.Child(0)
	c.Signal(syscall.SIGSTOP)
	sleep(ctx, zombieTime)
	c.Signal(syscall.SIGCONT)
	if _, ended := c.Wait(2 * time.Second); ended {
		return 0, fmt.Errorf("it did not live on")
	}
	w.Hit("zombie", "it lives on")
	return 1, nil
}
