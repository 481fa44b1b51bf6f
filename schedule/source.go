package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/outage"
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
	registers bool         // a consumer has registered a handler
	unused    *time.Timer  // logs that nothing subscribes
	ahead     atomic.Int64 // of the database's clock, in ns
	// pace is how often the database is asked for the time, and for orders of people; again is
	// the pause after an error.
	pace, again time.Duration
}

var (
	_ message.Subscriber = (*Source)(nil)
	_ consumer.Checker   = (*Source)(nil)
	_ consumer.Registrar = (*Source)(nil)
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
	s.logger = outage.Logger(s.logger, func() bool {
		ctx, cancel := context.WithTimeout(s.closing, pingTime)
		defer cancel()
		return st.Ping(ctx) != nil
	})
	s.closing, s.close = context.WithCancel(context.Background())
	s.unused = time.AfterFunc(unusedAfter, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.warnUnhandled()
	})
	return s, nil
}

const (
	// pingTime bounds a ping that tells an outage from a mistake.
	pingTime = 2 * time.Second
	// unusedAfter is how long a program may take to subscribe to a schedule.
	unusedAfter = time.Minute
)

// Registered records that the schedule has a handler. It does not block. The consumer calls it.
func (s *Source) Registered(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.known[name]; k != nil {
		k.handled, s.registers = true, true
	}
}

// warnUnhandled logs the schedules whose ticks no handler takes. The caller holds s.mu.
func (s *Source) warnUnhandled() {
	for _, name := range slices.Sorted(maps.Keys(s.known)) {
		if !s.known[name].handled {
			s.logger.Warn("no handler takes the ticks of a schedule: register one with schedule.Handle before Run, or take it out of Options.Schedules", "schedule", name)
		}
	}
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
// acknowledgement. It does not block: while the database is away there are no ticks. The first
// call logs the schedules that no handler takes, if a consumer makes it.
func (s *Source) Subscribe(ctx context.Context, name string) (<-chan *message.Message, error) {
	if err := s.Check(ctx, name, consumer.Demands{}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return nil, ErrClosed
	}
	if s.known[name].handled = true; s.unused.Stop() && s.registers { // a Router does not register
		s.warnUnhandled()
	}
	if s.instead != nil {
		if _, err := s.schedules.Declare(ctx, s.known[name].row()); err != nil {
			return nil, err
		}
		return s.instead.Subscribe(ctx, name)
	}
	ctx, cancel := context.WithCancel(ctx)
	sub := &subscription{Source: s, known: s.known[name], watcher: s.watch[name], ctx: ctx, out: make(chan *message.Message)}
	sub.reads.Fails, sub.reads.Works = "no ticks: the schedule cannot be read; trying again", "the schedule can be read again, and ticks come"
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
	s.unused.Stop()
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

// Hurry is for tests of this module: the source asks the database for the time every ten milliseconds, and
// is unused at once.
func (s *Source) Hurry() {
	s.pace, s.again = 10*time.Millisecond, 10*time.Millisecond
	s.unused.Reset(s.pace)
}

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
