package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/store"
)

// Options are the options of a Source.
type Options struct {
	// Schedules are its calendars. Required.
	Schedules []Schedule
	// Logger logs what operators should know. Default: slog.Default.
	Logger *slog.Logger
	// Alert gets an alert of kind schedule_missed. Give it the consumer's hook. Default:
	// alerts.Log(Logger).
	Alert alerts.Hook
	// MeterProvider makes the gauge headrace.schedule.lag. Default: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
}

// ErrClosed matches the error of Subscribe after Close.
var ErrClosed = errors.New("schedule: the source is closed")

// Source makes ticks. It is a Watermill Subscriber. Its methods may be called concurrently.
type Source struct {
	schedules store.Schedules
	known     map[string]*known
	logger    *slog.Logger
	alert     alerts.Hook
	lag       metric.Float64Gauge
	watch     map[string]func(store.Schedule) // by name
	instead   message.Subscriber              // of the calendars; usually nil
	closing   context.Context
	close     context.CancelFunc
	running   sync.WaitGroup
	mu        sync.Mutex
	ahead     atomic.Int64 // of the database's clock, in ns
	// pace is how often the database is asked for the time, and for orders of people; again is
	// the pause after an error.
	pace, again time.Duration
}

var (
	_ message.Subscriber = (*Source)(nil)
	_ consumer.Checker   = (*Source)(nil)
)

// NewSource returns a source of schedules in a database. An error names the schedule and the
// field that is invalid, or is that of the MeterProvider.
func NewSource(st store.Store, o Options) (*Source, error) {
	if st == nil {
		return nil, errors.New("schedule: the store is nil")
	}
	s := &Source{schedules: st.Operations().Schedules, known: make(map[string]*known), watch: make(map[string]func(store.Schedule)), logger: o.Logger, alert: o.Alert, pace: 5 * time.Second, again: time.Second}
	if len(o.Schedules) == 0 {
		return nil, errors.New("schedule: there are no Schedules")
	}
	for _, one := range o.Schedules {
		k, err := one.parse()
		if err != nil {
			return nil, fmt.Errorf("schedule %q: %w", one.Name, err)
		}
		if s.known[one.Name] != nil {
			return nil, fmt.Errorf("schedule %q is given twice", one.Name)
		}
		s.known[one.Name] = k
	}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	if s.alert == nil {
		s.alert = alerts.Log(s.logger)
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	var err error
	if s.lag, err = o.MeterProvider.Meter("github.com/headrace/headrace/schedule").Float64Gauge("headrace.schedule.lag",
		metric.WithUnit("s"), metric.WithDescription("How long after its time the newest tick was handed over.")); err != nil {
		return nil, fmt.Errorf("schedule: option Options.MeterProvider: %w", err)
	}
	s.closing, s.close = context.WithCancel(context.Background())
	return s, nil
}

// Check returns an error if there is no schedule of that name. It does not block. The
// consumer calls it at the start.
func (s *Source) Check(_ context.Context, name string, _ consumer.Demands) error {
	if s.known[name] == nil {
		return fmt.Errorf("schedule: there is no schedule %q: name it in Options.Schedules", name)
	}
	return nil
}

// TopicRetention is the schedule's Within, after which a tick never comes again.
func (s *Source) TopicRetention(name string) time.Duration {
	if k := s.known[name]; k != nil {
		return k.Within
	}
	return 0
}

// Subscribe makes the ticks of a schedule from now on, and those to be caught up. The channel
// is closed when ctx ends or the Source is closed; ticks that were handed over wait for their
// acknowledgement. It does not block: while the database is away there are no ticks.
func (s *Source) Subscribe(ctx context.Context, name string) (<-chan *message.Message, error) {
	if err := s.Check(ctx, name, consumer.Demands{}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return nil, ErrClosed
	}
	if s.instead != nil {
		if _, err := s.schedules.Declare(ctx, s.known[name].row()); err != nil {
			return nil, err
		}
		return s.instead.Subscribe(ctx, name)
	}
	ctx, cancel := context.WithCancel(ctx)
	sub := &subscription{Source: s, known: s.known[name], watcher: s.watch[name], ctx: ctx, out: make(chan *message.Message)}
	s.running.Go(func() {
		defer cancel()
		defer context.AfterFunc(s.closing, cancel)()
		sub.run()
	})
	return sub.out, nil
}

// Close ends all subscriptions and waits for their goroutines. It may be called again.
func (s *Source) Close() error {
	s.mu.Lock()
	s.close()
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// Watch is for package reconcile: while the schedule of that name is subscribed, f is called
// with what the database has of it, every 5 seconds. Call it before Subscribe.
func (s *Source) Watch(name string, f func(store.Schedule)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch[name] = f
}

// TakeFrom is for package consumertest: messages come from another subscriber, in place of
// the calendars, and none is outdated. Call it before Subscribe, which then waits for the
// database.
func (s *Source) TakeFrom(other message.Subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instead = other
}

// TickMessage is for package consumertest: the message of the schedule's tick of that time.
// It returns an error if there is none.
func (s *Source) TickMessage(name string, at time.Time) (*message.Message, error) {
	k := s.known[name]
	if k == nil {
		return nil, fmt.Errorf("schedule: there is no schedule %q", name)
	}
	if next := k.calendar.next(at.Add(-time.Nanosecond)); !next.Equal(at) {
		return nil, fmt.Errorf("schedule %q has no tick at %s: the next is %s", name, at.UTC().Format(time.RFC3339Nano), next.UTC().Format(time.RFC3339))
	}
	return Tick{Name: name, At: at}.message(), nil
}

// Hurry is for tests of this module: the source asks the database for the time without pause.
func (s *Source) Hurry() { s.pace, s.again = 2*time.Millisecond, 2*time.Millisecond }

// outdated reports whether the successor of a tick is due, and the schedule wants only the
// newest.
func (s *Source) outdated(t Tick) bool {
	k := s.known[t.Name]
	if s.instead != nil || k == nil || k.CatchUp != Last || t.Fired {
		return false
	}
	next := k.calendar.next(t.At)
	return !next.IsZero() && !next.After(time.Now().Add(time.Duration(s.ahead.Load())))
}

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
}

// run makes ticks until ctx ends.
func (s *subscription) run() {
	defer close(s.out)
	defer s.sending.Wait()
	var last time.Time // the newest tick that was made, or need not be
	for s.ctx.Err() == nil && last.IsZero() {
		row, err := s.schedules.Declare(s.ctx, s.row())
		if err != nil {
			s.failed(err)
			continue
		}
		s.catchUp(row)
		last = row.Now
	}
	for s.ctx.Err() == nil {
		next := s.calendar.next(last)
		row, err := s.schedules.Beat(s.ctx, s.row())
		if err == nil && row.Name == "" { // somebody has removed it
			row, err = s.schedules.Declare(s.ctx, s.row())
		}
		if err != nil {
			s.failed(err)
			continue
		}
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

func (s *subscription) failed(err error) {
	if s.ctx.Err() != nil {
		return
	}
	s.logger.Warn("no ticks: the database does not answer", "schedule", s.Name, "error", err)
	sleep.For(s.ctx, s.again)
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
