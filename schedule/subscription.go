package schedule

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/store"
)

// subscription makes the ticks of one schedule.
type subscription struct {
	*Source
	*known
	ctx     context.Context
	out     chan *message.Message
	watcher func(store.Schedule) // may be nil
	sending sync.WaitGroup
	fired   time.Time // the last order of a person that was followed
	foreign bool      // the schedule in the database is another one
	reads   outage.Part
}

// run makes ticks until ctx ends.
func (s *subscription) run() {
	defer close(s.out)
	defer s.sending.Wait()
	var last time.Time // the newest tick that was made, or need not be
	for s.ctx.Err() == nil && last.IsZero() {
		row, err := s.schedules.Declare(s.ctx, s.row())
		if err != nil {
			s.tried(err)
			continue
		}
		s.catchUp(row)
		last = row.Now
	}
	for s.ctx.Err() == nil {
		next := s.calendar.next(last)
		row, err := s.schedules.Beat(s.ctx, s.row())
		if err == nil && row.Name == "" { // it was removed
			row, err = s.schedules.Declare(s.ctx, s.row())
		}
		if err != nil {
			s.tried(err)
			continue
		}
		s.tried(nil)
		s.ahead.Store(int64(time.Until(row.Now)))
		if s.watcher != nil {
			s.watcher(row)
		}
		s.follow(row)
		due := next.Sub(row.Now)
		if next.IsZero() || due > 0 {
			if next.IsZero() || due > s.pace {
				due = s.pace
			}
			sleep.For(s.ctx, due)
			continue
		}
		switch {
		case s.foreign:
			last = next
		case next.After(s.oldest(row)):
			last = next
			s.first(Tick{Name: s.Name, At: next})
		default: // this process stood still, as on a suspended machine, and the inbox may have forgotten
			s.catchUp(row)
			last = row.Now
		}
	}
}

// oldest is a time before the ticks that may come.
func (s *subscription) oldest(row store.Schedule) time.Time {
	return later(row.Since, row.Now.Add(-s.Within))
}

// row is the schedule as this process has it.
func (k *known) row() store.Schedule {
	return store.Schedule{Name: k.Name, Cron: k.Cron, Zone: k.Zone, Within: k.Within}
}

// tried tells how a read of the schedule went, and waits after one that failed.
func (s *subscription) tried(err error) {
	s.reads.Tell(s.ctx, s.logger, err, "schedule", s.Name)
	if err != nil {
		sleep.For(s.ctx, s.again)
	}
}

// catchUp makes the ticks that were due while this process did not run.
func (s *subscription) catchUp(row store.Schedule) {
	s.ahead.Store(int64(time.Until(row.Now)))
	from := row.Now.Add(-s.Within)
	if missed := s.calendar.next(later(row.Since, row.Seen)); !row.Seen.IsZero() && !missed.IsZero() && missed.Before(from) {
		s.missed(missed, from)
	}
	var due []time.Time
	for at := s.calendar.next(s.oldest(row)); !at.IsZero() && !at.After(row.Now); at = s.calendar.next(at) {
		if due = append(due, at); s.CatchUp == Last {
			due = due[len(due)-1:]
		}
	}
	for _, at := range due {
		if t := (Tick{Name: s.Name, At: at, Late: true}); at.After(row.Seen) {
			s.first(t)
		} else { // a process ran when it was due
			s.make(t)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// missed tells of ticks that are too old to be caught up.
func (s *subscription) missed(first, before time.Time) {
	s.logger.Error("ticks were missed: no process ran, and they are older than Within", "schedule", s.Name, "first", first, "before", before)
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	a := alerts.Alert{Kind: alerts.ScheduleMissed, Topic: s.Name, Count: 1, Since: first, At: time.Now(),
		Text: "ticks of a schedule were missed while no process ran, and are too old to be caught up: see headrace schedule ls"}
	if err := s.alert(ctx, a); err != nil {
		s.logger.Error("the alert of missed ticks was not sent", "schedule", s.Name, "error", alerting.Reason(err))
	}
}

// follow makes the tick that a person asked for, and notes whether the schedule is ours.
func (s *subscription) follow(row store.Schedule) {
	foreign := row.Cron != s.Cron || row.Zone != s.Zone
	if foreign && !s.foreign {
		s.logger.Warn("no ticks: another process has changed the schedule", "schedule", s.Name, "cron", row.Cron, "zone", row.Zone)
	}
	s.foreign = foreign
	if row.Fired.After(s.fired) && row.Now.Sub(row.Fired) < s.Within { // the inbox knows it for as long
		if s.fired = row.Fired; !foreign {
			s.make(Tick{Name: s.Name, At: row.Fired, Fired: true})
		}
	}
}

// first makes a tick that no process is known to have made, and tells how late that is.
func (s *subscription) first(t Tick) {
	if s.make(t) {
		late := time.Now().Add(time.Duration(s.ahead.Load())).Sub(t.At)
		s.lag.Record(context.Background(), max(late, 0).Seconds(), metric.WithAttributes(attribute.String("headrace.schedule", t.Name)))
	}
}

// make hands a tick over, and again until it is acknowledged. It blocks until the consumer
// has taken it; false if the subscription ends before.
func (s *subscription) make(t Tick) bool {
	m := s.hand(t)
	if m == nil {
		return false
	}
	s.sending.Go(func() {
		for m != nil {
			select {
			case <-m.Acked():
				return
			case <-m.Nacked():
				sleep.For(s.ctx, s.again)
				m = s.hand(t)
			case <-s.ctx.Done():
				return
			}
		}
	})
	return true
}

// hand hands a message of t over; nil if the subscription ends before.
func (s *subscription) hand(t Tick) *message.Message {
	m := t.message()
	select {
	case s.out <- m:
		return m
	case <-s.ctx.Done():
		return nil
	}
}

// message returns the message of t.
func (t Tick) message() *message.Message {
	payload, err := json.Marshal(t)
	if err != nil {
		panic("schedule: " + err.Error()) // a name and a time always have a JSON form
	}
	id := ID(t.Name, t.At)
	if t.Fired {
		id = firedID(t.Name, t.At)
	}
	m := message.NewMessage(id, payload)
	m.SetContext(headrace.WithArrival(context.Background(), headrace.Arrival{OrderKey: t.Name, Time: t.At}))
	return m
}
