package watching

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/outbox"
)

// sender sends the alerts of one sink.
type sender struct {
	w      *Watch
	sink   string
	caller *alerting.Caller
	wake   *outbox.Signal
	calls  []time.Time               // within the last minute
	known  map[string]condition.Send // by key: as it was read last, and what was written since
}

// due is an alert to be sent.
type due struct {
	condition.Condition
	phase alerts.Phase
	send  condition.Send
	again bool // only since the receiver forgets
}

// run sends until ctx ends.
func (s *sender) run(ctx context.Context) {
	tick := time.NewTicker(s.w.every)
	defer tick.Stop()
	part := outage.Part{Fails: "alerts: what a sink knows cannot be read or written; trying again"}
	for {
		for _, namespace := range slices.Compact([]string{s.w.o.Consumer, ""}) {
			part.Tell(ctx, s.w.o.Logger, s.work(ctx, namespace), "sink", s.sink)
		}
		if !sleep.For(ctx, gapTime) {
			return
		}
		select {
		case <-s.wake.C():
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// work sends what a namespace owes the sink, if no other process does.
func (s *sender) work(ctx context.Context, namespace string) (err error) {
	store, name := s.w.store(), "send:"+namespace+":"+s.sink
	if list, err := s.due(ctx, namespace, time.Now()); err != nil || len(list) == 0 {
		return err // by this process's clock: it is read again by the database's
	}
	now, ok, err := store.Lease(ctx, name, s.w.o.Owner, leaseTime, 0)
	if err != nil || !ok {
		return err
	}
	defer func() {
		if released := s.w.release(ctx, name, err == nil); err == nil {
			err = released
		}
	}()
	return s.sendAll(ctx, name, namespace, now)
}

// sendAll sends what a namespace owes the sink, the severest first. The lease called name is this process's.
func (s *sender) sendAll(ctx context.Context, name, namespace string, now time.Time) error {
	list, err := s.due(ctx, namespace, now)
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b due) int { return b.Severity.Rank() - a.Severity.Rank() })
	read := time.Now()
	room := s.room(now)
	for _, d := range list {
		if d.counts() {
			if room == 0 {
				continue // in a minute, if it is still true
			}
			room--
			s.calls = append(s.calls, now)
		}
		if more, err := s.pass(ctx, name, d, now, now.Add(time.Since(read))); err != nil || !more {
			return err
		}
	}
	return nil
}

// counts reports whether PerMinute bounds it. An end does not page, and there is one for what was
// told.
func (d *due) counts() bool { return !d.again && d.phase != alerts.Resolved }

// due returns what a namespace owes the sink, the earliest condition first.
func (s *sender) due(ctx context.Context, namespace string, now time.Time) (list []due, err error) {
	conditions, err := s.w.store().List(ctx, namespace, false)
	if err != nil || len(conditions) == 0 {
		return nil, err
	}
	sends, err := s.w.store().Sends(ctx, namespace, s.sink, false)
	if err != nil {
		return nil, err
	}
	s.known = make(map[string]condition.Send, len(sends))
	for _, x := range sends {
		s.known[x.Key] = x
	}
	for _, c := range conditions {
		x, ok := s.known[c.Key]
		if !ok {
			x = condition.Send{Key: c.Key, Sink: s.sink}
		}
		if c.Kind == alerts.SinkFailing && c.Topic == s.sink {
			continue
		}
		if c.Kind == alerts.ConsumerAbsent && c.Consumer == s.w.o.Consumer && !x.Open() {
			continue // it runs here, and no process has looked yet
		}
		if phase := condition.Next(c, x, now); phase != "" {
			list = append(list, due{c, phase, x, false})
		} else if condition.Repeat(c, x, now, s.caller.Every) {
			list = append(list, due{c, alerts.Again, x, true})
		}
	}
	return list, nil
}

// room is how many alerts may be sent now.
func (s *sender) room(now time.Time) int {
	kept := s.calls[:0]
	for _, t := range s.calls {
		if now.Sub(t) < time.Minute {
			kept = append(kept, t)
		}
	}
	s.calls = kept
	return max(s.w.o.Alerts.PerMinute-len(kept), 0)
}

// pass calls the sink, and records what it said of d at the time at. It reports false if another
// process sends by now.
func (s *sender) pass(ctx context.Context, name string, d due, now, at time.Time) (more bool, err error) {
	a := d.alert(now)
	failed := s.caller.Call(ctx, a)
	if failed != nil && ctx.Err() != nil {
		return false, nil // it is tried by the next process
	}
	d.send.Down = s.known[d.Key].Down // it took another since, or not
	var written []condition.Send
	if s.caller.Wants == nil || s.caller.Wants(a) {
		written = s.up(d.Key)
	}
	next := d.send.Took(d.phase, d.Condition, at)
	if failed != nil {
		refusal, _ := errors.AsType[*alerts.SendError](failed)
		next = d.send.Failed(d.phase, d.Condition, at, alerting.Delay(d.send.Failures+1, failed), alerting.Reason(failed), refusal != nil && refusal.Refused)
		written = nil
	}
	written = append(written, next)
	for _, x := range written {
		s.known[x.Key] = x
	}
	ctx, cancel := outlast(ctx)
	defer cancel()
	return s.w.store().Put(ctx, name, s.w.o.Owner, condition.Change{Sends: written})
}

// up returns the other rows that say that the sink takes nothing, without that: it took what has the key.
func (s *sender) up(key string) (list []condition.Send) {
	for _, x := range s.known {
		if x.Key != key && !x.Down.IsZero() {
			x.Down = time.Time{}
			list = append(list, x)
		}
	}
	return list
}

// alert is what is sent of d.
func (d due) alert(now time.Time) alerts.Alert {
	a := d.Condition.Alert
	a.Phase, a.At = d.phase, now
	if a.Kind.Event() {
		a.Phase, a.At = "", d.Ended
	}
	since := d.send.Sent
	if since.IsZero() {
		since = a.Since
	}
	if d.phase == alerts.Resolved {
		a.At = d.Ended
		a.Title = "Resolved: " + a.Title
		a.Text = a.Title + "."
	}
	a.ID = fmt.Sprintf("%.24s-%s-%d", a.Key, d.phase, since.UnixMicro())
	return a
}
