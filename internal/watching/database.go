package watching

import (
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/outbox"
)

// crashTime is the time in which ends count, and calmTime that without one after which it is over.
const (
	crashTime = 10 * time.Minute
	calmTime  = 15 * time.Minute
	// seenTime is how long a consumer that is absent is remembered, and a schedule at least.
	seenTime = 7 * 24 * time.Hour
)

// consumers are those without a process, and those whose processes end unexpectedly.
func (f *facts) consumers() (list []condition.Finding) {
	byName := make(map[string][]instance.Instance)
	for _, i := range f.instances {
		byName[i.Consumer] = append(byName[i.Consumer], i)
	}
	for name, of := range byName {
		list = append(append(list, f.absent(name, of)...), f.crashing(name, of)...)
	}
	for _, c := range f.current { // no process is remembered any more: only time ends it
		if c.Kind == alerts.ConsumerAbsent && c.State == condition.Firing && byName[c.Consumer] == nil && f.now.Sub(c.Since) < seenTime {
			list = append(list, condition.Finding{Alert: c.Alert, Unchanged: true})
		}
	}
	return list
}

func (f *facts) absent(name string, of []instance.Instance) []condition.Finding {
	last := of[0]
	for _, i := range of {
		if i.Ended.IsZero() && i.Age <= f.bounds.Absent {
			return nil
		}
		if i.Beat.After(last.Beat) {
			last = i
		}
	}
	if !last.Ended.IsZero() {
		return nil // it was ended in order
	}
	c := finding(alerts.ConsumerAbsent, alerts.Critical, name)
	c.Build, c.Since = last.Build, last.Beat
	on := ""
	if last.Host != "" {
		on = ", on " + last.Host + ","
	}
	return []condition.Finding{say(c, name+" has no process", fmt.Sprintf("The last one%s gave its last sign of life at %s", on, clock(last.Beat)),
		"headrace consumer ls "+name)}
}

func (f *facts) crashing(name string, of []instance.Instance) []condition.Finding {
	n, recent := int64(0), false
	for _, i := range of {
		if i.Dead(instance.Missed) {
			recent = recent || f.now.Sub(i.Beat) < calmTime
			if f.now.Sub(i.Beat) < crashTime {
				n++
			}
		}
	}
	c := finding(alerts.ConsumerCrashing, alerts.Error, name)
	c.Count, c.Unchanged = max(n, 1), n < int64(f.bounds.Crashes)
	if c.Unchanged && !recent {
		return nil
	}
	return []condition.Finding{say(c, fmt.Sprintf("%d processes of %s have ended unexpectedly within 10 minutes", n, name), "", "headrace consumer ls "+name)}
}

// events are those that are not published, or that no consumer takes.
func (f *facts) events() (list []condition.Finding) {
	ownerless := func(o outbox.Status, title, more, command string) {
		c := finding(alerts.WorkWithoutOwner, alerts.Warning, "")
		c.Topic, c.Count, c.For = o.Outbox, o.Ready, f.bounds.WithoutOwner
		list = append(list, say(c, title, more, command))
	}
	for _, o := range f.outboxes {
		if o.Outbox == outbox.Unclaimed && o.Ready > 0 {
			ownerless(o, plural(o.Ready, "local event waits", "local events wait")+", and no consumer has a local handler for the topic",
				"Register one with consumer.Local, or correct the topic", "headrace status")
		}
		if _, line := outbox.ConsumerOf(o.Outbox); line {
			continue // others watch those of consumers
		}
		lag := finding(alerts.OutboxLag, alerts.Critical, "")
		lag.Topic, lag.Count, lag.For = o.Outbox, max(o.Ready, 1), 2*time.Minute
		lag.Unchanged = o.Oldest <= f.bounds.OutboxLag && o.Oldest >= f.bounds.OutboxLag/6
		if o.Relays > 0 && (lag.Unchanged || o.Oldest > f.bounds.OutboxLag) {
			list = append(list, say(lag, fmt.Sprintf("%s in outbox %s, the oldest for %s", plural(o.Ready, "event waits", "events wait"), o.Outbox,
				o.Oldest.Round(time.Second)), "", "headrace outbox status"))
		}
		if o.Parked > 0 {
			c := finding(alerts.RowsParked, alerts.Warning, "")
			c.Topic, c.Count = o.Outbox, o.Parked
			list = append(list, say(c, fmt.Sprintf("%s in outbox %s", plural(o.Parked, "event is parked", "events are parked"), o.Outbox),
				"The sink refuses them and takes others; later events of their order keys wait", "headrace outbox parked"))
		}
		if o.Relays+o.Waiting == 0 && o.Ready > 0 {
			ownerless(o, fmt.Sprintf("%s in outbox %s, and no process publishes it", plural(o.Ready, "event waits", "events wait"), o.Outbox), "", "headrace outbox status")
		}
	}
	return list
}

// unowned are messages whose handler no process has.
func (f *facts) unowned() (list []condition.Finding) {
	if !f.deep {
		for _, c := range f.current {
			if c.Kind == alerts.WorkWithoutOwner && c.Handler != "" {
				list = append(list, condition.Finding{Alert: c.Alert, Unchanged: true})
			}
		}
		return list
	}
	for _, d := range f.depths {
		n := d.Ready + d.Delayed + d.Blocked
		taken := slices.ContainsFunc(f.instances, func(i instance.Instance) bool {
			return i.Alive() && i.Consumer == d.Consumer && (i.Handlers == nil || slices.Contains(i.Handlers, d.Handler))
		})
		if n == 0 || taken {
			continue
		}
		c := finding(alerts.WorkWithoutOwner, alerts.Warning, d.Consumer)
		c.Handler, c.Count, c.For = d.Handler, n, f.bounds.WithoutOwner
		list = append(list, say(c, fmt.Sprintf("%s for %s/%s, and no process has this handler", plural(n, "message waits", "messages wait"), d.Consumer, d.Handler), "", "headrace status"))
	}
	return list
}

// ticks are schedules that no process makes, and items without a message.
func (f *facts) ticks() (list []condition.Finding) {
	for _, s := range f.schedules {
		if !s.Seen.IsZero() && f.now.Sub(s.Seen) > max(s.Within, seenTime) {
			continue // a program that has it no more says so by nothing else
		}
		if !s.Seen.IsZero() && f.now.Sub(s.Seen) > f.bounds.WithoutOwner {
			c := finding(alerts.ScheduleMissed, alerts.Error, "")
			c.Topic, c.Since = s.Name, s.Seen
			list = append(list, say(c, fmt.Sprintf("no process has made the ticks of schedule %s since %s", s.Name, clock(s.Seen)), "", "headrace schedule ls"))
		}
		if !s.GapFrom.IsZero() {
			c := finding(alerts.ReconcileGap, alerts.Error, "")
			c.Topic, c.Since = s.Name, s.GapFrom
			list = append(list, say(c, fmt.Sprintf("%s could not compare the items from %s to %s", s.Name, clock(s.GapFrom), clock(s.GapTo)),
				"Messages of that time may be pruned: compare them by other means", "headrace schedule ls"))
		}
		if s.Missing > 0 {
			c := finding(alerts.Missing, alerts.Error, "")
			c.Topic, c.Count = s.Name, s.Missing
			list = append(list, say(c, fmt.Sprintf("%s had no message in the last run of %s", plural(s.Missing, "item", "items"), s.Name), "", "headrace schedule ls"))
		}
	}
	return list
}
