package unused

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/headrace/headrace/internal/runtime"
	"github.com/headrace/headrace/outbox/relay"
)

// Options says which options of a consumer.Config the program has set.
type Options struct {
	Source, NackPause, MaxInFlight, MaxBatch, BatchTime, DeadLetterTopic, Sink, Rehearsable bool
	Key, SameWhen, OrderKey                                                                 bool
	// Lost says that Retry has an override for lost leases.
	Lost bool
	// Systems are the systems of Config.Systems, sorted.
	Systems []string
	Relay   relay.Options
	Drain   time.Duration
}

// Publishing returns an error if an option about publishing has no effect.
func (o Options) Publishing() error {
	switch {
	case o.Sink && o.Relay.StopTimeout > o.Drain:
		return fmt.Errorf("option Config.Relay.StopTimeout (%s) is above Config.DrainTimeout (%s), and a stop waits no longer than that: raise DrainTimeout", o.Relay.StopTimeout, o.Drain)
	case o.Sink:
		return nil
	case !reflect.ValueOf(o.Relay).IsZero():
		return errors.New("option Config.Relay is set without Config.Sink: nothing is published; set a Sink, or leave Relay out")
	case o.DeadLetterTopic:
		return errors.New("option Config.DeadLetterTopic is set without Config.Sink: no copies are published; set a Sink, or leave DeadLetterTopic out")
	}
	return nil
}

// Attached returns an error if an option is set that a handler of a Router cannot have, or if
// Sink is not set.
func (o Options) Attached() error {
	for _, one := range []struct {
		name string
		set  bool
		why  string
	}{
		{"Source", o.Source, "is set: the Router subscribes, leave it nil"},
		{"Sink", !o.Sink, "is nil: give the Publisher for what handlers return, since the Router publishes nothing any more"},
		{"MaxBatch", o.MaxBatch, "is set: a handler of a Router gets one message at a time, leave it 0"},
		{"BatchTime", o.BatchTime, "is set: a handler of a Router gets one message at a time, leave it 0"},
		{"Retry", o.Lost, "is set, with Overrides[\"lost\"], but a handler of a Router has no lease that could be lost: leave the override out"},
		{"Systems", len(o.Systems) > 0, "is set: a handler of a Router has no steps, leave it nil"},
		{"Rehearsable", o.Rehearsable, "is set: a handler of a Router cannot be rehearsed, leave it false"},
	} {
		if one.set {
			return fmt.Errorf("option Config.%s %s", one.name, one.why)
		}
	}
	return nil
}

// Of returns an error if an option has no effect on any of the handlers. given are the options
// of each.
func (o Options) Of(handlers []*runtime.Handler, given [][]string) error {
	has := func(is func(h *runtime.Handler) bool) bool { return slices.ContainsFunc(handlers, is) }
	received := has(func(h *runtime.Handler) bool { return h.Source != nil || h.Ingest != nil })
	leased := has(func(h *runtime.Handler) bool { return h.Leased != nil })
	batched := has(func(h *runtime.Handler) bool { return !h.Alone || h.Intake || h.Leased != nil })
	rehearsed := has(func(h *runtime.Handler) bool { return !h.Alone && h.Leased == nil })
	for _, one := range []struct {
		name string
		set  bool
		why  string
	}{
		{"Source", o.Source && each(given, "From", "Local"), "but each handler is registered with From or Local: leave one of the two out"},
		{"NackPause", o.NackPause && !received, "but no handler has a Source: nothing is given back; leave it 0"},
		{"MaxInFlight", o.MaxInFlight && !received, "but no handler has a Source: there are no deliveries; leave it 0"},
		{"MaxBatch", o.MaxBatch && !batched, "but each handler is Alone and gets one message at a time: leave it 0"},
		{"BatchTime", o.BatchTime && !batched, "but each handler is Alone and gets one message at a time: leave it 0"},
		{"Rehearsable", o.Rehearsable && !rehearsed, "but each handler is Alone or leased, and cannot be rehearsed: leave it false"},
		{"Retry", o.Lost && !leased, "with Overrides[\"lost\"], but no handler is one of HandleLeased, and only a lease is lost: leave the override out"},
	} {
		if one.set {
			return fmt.Errorf("option Config.%s is set, %s", one.name, one.why)
		}
	}
	return o.unlimited(handlers)
}

// Overridden names the options whose values each handler overrides. given are the options of each.
func (o Options) Overridden(given [][]string) (names []string) {
	for name, set := range map[string]bool{"Key": o.Key, "SameWhen": o.SameWhen, "OrderKey": o.OrderKey} {
		if set && each(given, name) {
			names = append(names, "Config."+name)
		}
	}
	slices.Sort(names)
	return names
}

// each reports whether each handler has one of the options of these names.
func each(given [][]string, names ...string) bool {
	isOne := func(option string) bool { return slices.Contains(names, option) }
	return !slices.ContainsFunc(given, func(options []string) bool { return !slices.ContainsFunc(options, isOne) })
}

// unlimited returns an error if Config.Systems limits a system that no step calls: with a
// typing error in its name, the limit would be missing.
func (o Options) unlimited(handlers []*runtime.Handler) error {
	called := make(map[string]bool)
	for _, h := range handlers {
		if h.Leased != nil {
			for _, name := range h.Leased.Plan.Systems() {
				called[name] = true
			}
		}
	}
	i := slices.IndexFunc(o.Systems, func(name string) bool { return !called[name] })
	if i >= 0 {
		return fmt.Errorf("option Config.Systems is set for %q, but no step of consumer.Steps calls a system of that name: leave it out, or correct the name", o.Systems[i])
	}
	return nil
}
