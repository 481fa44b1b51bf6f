package consumer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/headrace/headrace/internal/runtime"
)

// publishing returns an error if an option about publishing has no effect. The error names
// the option.
func (c Config) publishing() error {
	drain := cmp.Or(c.DrainTimeout, defaultDrain)
	switch {
	case c.Sink != nil && c.Relay.StopTimeout > drain:
		return fmt.Errorf("option Config.Relay.StopTimeout (%s) is above Config.DrainTimeout (%s), and a stop waits no longer than that: raise DrainTimeout", c.Relay.StopTimeout, drain)
	case c.Sink != nil:
		return nil
	case !reflect.ValueOf(c.Relay).IsZero():
		return errors.New("option Config.Relay is set without Config.Sink: nothing is published; set a Sink, or leave Relay out")
	case c.DeadLetterTopic != nil:
		return errors.New("option Config.DeadLetterTopic is set without Config.Sink: no copies are published; set a Sink, or leave DeadLetterTopic out")
	}
	return nil
}

// ignored returns an error if an option of Config is set and has no effect on any handler.
// The error names the option. Defaults that a handler may override are accepted, and so is
// BatchTime if each handler is Alone: it is a limit, and one message keeps it.
func (c *Consumer) ignored() error {
	handlers := c.rt.Handlers()
	received := slices.ContainsFunc(handlers, func(h *runtime.Handler) bool { return h.Source != nil })
	batched := slices.ContainsFunc(handlers, func(h *runtime.Handler) bool { return !h.Alone || h.Intake || h.Leased != nil })
	switch given := c.given; {
	case given.Source != nil && !c.sourced:
		return errors.New("option Config.Source is set, but each handler is registered with From or Local: leave one of the two out")
	case given.NackPause != 0 && !received:
		return errors.New("option Config.NackPause is set, but no handler has a Source: nothing is given back; leave it 0")
	case given.MaxInFlight != 0 && !received:
		return errors.New("option Config.MaxInFlight is set, but no handler has a Source: there are no deliveries; leave it 0")
	case given.MaxBatch != 0 && !batched:
		return errors.New("option Config.MaxBatch is set, but each handler is Alone and gets one message at a time: leave it 0")
	}
	return c.unlimited()
}

// unlimited returns an error if Config.Systems limits a system that no step calls: with a
// typing error in its name, the limit would be missing.
func (c *Consumer) unlimited() error {
	called := make(map[string]bool)
	for _, h := range c.rt.Handlers() {
		if h.Leased != nil {
			for _, name := range h.Leased.Plan.Systems() {
				called[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.given.Systems)) {
		if !called[name] {
			return fmt.Errorf("option Config.Systems is set for %q, but no step of consumer.Steps calls a system of that name: leave it out, or correct the name", name)
		}
	}
	return nil
}
