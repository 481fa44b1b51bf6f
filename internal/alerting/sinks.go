package alerting

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/headrace/headrace/alerts"
)

// Sinks send the alerts of this process to each sink, which has a Dispatcher of its own. It is
// safe for concurrent use.
type Sinks struct {
	// Callers call the sinks, by what names each in the tables: its name and where it sends, or
	// its name and the consumer.
	Callers     map[string]*Caller
	dispatchers []*Dispatcher
}

// NewSinks starts a dispatcher for each sink of o in a process of consumer. The caller closes them.
// called is told of each call of a sink by name, as Caller.Called; may be nil.
func NewSinks(consumer string, o alerts.Options, logger *slog.Logger, called func(sink string, kind alerts.Kind, ok bool)) *Sinks {
	s := &Sinks{Callers: make(map[string]*Caller)}
	for _, sink := range o.Sinks {
		caller := NewCaller(func(ctx context.Context, a alerts.Alert) error { return sink.Send(ctx, o.Say(sink.Name(), a)) }, logger)
		if called != nil {
			caller.Called = func(kind alerts.Kind, ok bool) { called(sink.Name(), kind, ok) }
		}
		if r, ok := sink.(alerts.Repeated); ok {
			caller.Every = r.Every()
		}
		if choosy, ok := sink.(interface{ Wants(a alerts.Alert) bool }); ok { // those of alerts/sinks
			caller.Wants = choosy.Wants
		}
		s.Callers[idOf(consumer, sink)] = caller
		s.dispatchers = append(s.dispatchers, NewDispatcher(caller, o))
	}
	return s
}

// idOf names a sink in the tables. Two sinks of one name with two receivers have two, since each must
// hear the end of what it was told.
func idOf(consumer string, sink alerts.Sink) string {
	of := consumer
	if a, ok := sink.(alerts.Addressed); ok {
		of = a.Address()
	}
	return sink.Name() + "-" + of
}

// Send sends a to each: see Dispatcher.Send.
func (s *Sinks) Send(a alerts.Alert) {
	for _, d := range s.dispatchers {
		d.Send(a)
	}
}

// Dropped returns how many alerts were dropped.
func (s *Sinks) Dropped() (n int64) {
	for _, d := range s.dispatchers {
		n += d.Dropped()
	}
	return n
}

// Close closes all at once: see Dispatcher.Close.
func (s *Sinks) Close(ctx context.Context) error {
	errs := make([]error, len(s.dispatchers))
	var all sync.WaitGroup
	for i, d := range s.dispatchers {
		all.Go(func() { errs[i] = d.Close(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
