package consumertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/consumer"
)

// idleTimeout is how long Settle and Post wait without any progress, in a test of a user.
const idleTimeout = 30 * time.Second

// Settle waits until no work is left: each delivery is acknowledged, the backlog is
// empty, so is the outbox if the consumer has a Sink, no event waits for a local handler of
// the consumers that run here, and another process runs for each crashed one. Events for
// consumers that do not run here are logged, and not waited for. It checks after each event and never sleeps. If
// nothing happens for 30 seconds, or the test's deadline is near, it ends the test and
// shows what is left.
//
// A message that waits for a signal is not left: see Steps.Send.
//
// Delays take no time: a retry, whatever the policy's backoff, and an event's Delay wait
// for a millisecond. Kit.Delays returns the delays that the policy gave.
func (k *Kit) Settle() {
	k.t.Helper()
	k.start(1)
	end, cancel := k.deadline()
	defer cancel()
	idle := time.NewTimer(k.idleTimeout)
	defer idle.Stop()
	var last string
	for {
		felt := k.pulse.felt()
		left, err := k.left()
		if err != nil {
			k.mu.Lock()
			k.told = true
			k.mu.Unlock()
			k.t.Fatalf("Settle: %v\n%s", err, k.tell())
		}
		// The relays of a consumer beat as long as it runs: that alone is no progress.
		if now := k.progress(left); now != last {
			last = now
			idle.Reset(k.idleTimeout)
		}
		if len(left) == 0 {
			select {
			case <-felt: // a message may have moved from what was not yet looked at
				continue
			default:
				return
			}
		}
		select {
		case <-felt:
		case <-idle.C:
			k.t.Fatalf("Settle: nothing has happened for %s, and this is left:%s\n%s", k.idleTimeout, indent(left), k.tell())
		case <-end.Done():
			k.t.Fatalf("Settle: the test's time is over, and this is left:%s\n%s", indent(left), k.tell())
		}
	}
}

// progress differs if anything has happened: other work is left, or the story has gone on.
func (k *Kit) progress(left []string) string {
	left = slices.DeleteFunc(slices.Clone(left), func(line string) bool { return strings.HasSuffix(line, underWay) })
	return fmt.Sprint(k.story.length(), left)
}

// underWay ends the line of left for commits, most of which change nothing.
const underWay = "commits are under way"

// deadline ends shortly before the test's own deadline, which leaves time for the report.
func (k *Kit) deadline() (context.Context, context.CancelFunc) {
	type deadliner interface {
		Deadline() (time.Time, bool)
	}
	ctx := k.t.Context()
	if t, ok := k.t.(deadliner); ok {
		if at, has := t.Deadline(); has {
			return context.WithDeadline(ctx, at.Add(-2*time.Second))
		}
	}
	return context.WithCancel(ctx)
}

// left lists the work that is left. After an error there will be no progress.
//
// It looks at each step of a message before the next one: a process marks itself as
// crashed before it gives up its messages.
func (k *Kit) left() ([]string, error) {
	left := k.broker.outstanding()
	k.mu.Lock()
	relays := slices.ContainsFunc(k.consumers, func(c *consumer.Consumer) bool { return c.Runtime().Sink != nil })
	failed := k.failed
	k.mu.Unlock()
	if failed != nil {
		return nil, failed
	}
	if len(left) == 0 { // otherwise no query is needed
		var err error
		if left, err = k.leftInTables(relays); err != nil {
			return nil, err
		}
	}
	if n := k.committing.Load(); n > 0 {
		left = append(left, fmt.Sprintf("%d %s", n, underWay))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.slots {
		if p.dead {
			left = append(left, fmt.Sprintf("process %d has crashed and no other process has started yet", p.n))
		}
	}
	return left, k.failed
}

func (k *Kit) leftInTables(relays bool) (left []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	depths, err := k.place.kit.Backlog().Depths(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the backlog: %w", err)
	}
	var depth backlog.Depth
	for _, d := range depths {
		depth.Ready, depth.Delayed = depth.Ready+d.Ready, depth.Delayed+d.Delayed
		depth.Blocked, depth.Leased = depth.Blocked+d.Blocked, depth.Leased+d.Leased
	}
	waiting, err := k.waiting(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for signals: %w", err)
	}
	depth.Delayed = max(0, depth.Delayed-waiting)
	if n := depth.Ready + depth.Delayed + depth.Blocked + depth.Leased; n > 0 {
		left = append(left, fmt.Sprintf("backlog: %d ready, %d delayed, %d blocked behind another of their order key, %d leased",
			depth.Ready, depth.Delayed, depth.Blocked, depth.Leased))
	}
	lines, err := k.leftOnLines(ctx)
	if err != nil {
		return nil, err
	}
	left = append(left, lines...)
	if !relays {
		return left, nil
	}
	out, err := k.place.kit.Outbox().Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the outbox: %w", err)
	}
	if n := out.Ready + out.Delayed; n > 0 {
		left = append(left, strings.TrimSpace(fmt.Sprintf("outbox: %d ready, %d delayed", out.Ready, out.Delayed)))
	}
	return left, nil
}
