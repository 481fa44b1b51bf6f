package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/ledger"
)

// Plan is what a handler declares. The nil Plan declares nothing.
type Plan struct {
	steps []ledger.Spec // in their order
	names []string      // of all steps, with former ones and those that are gone
	// hasGone says that a step is gone.
	hasGone bool
}

// New returns the plan of a handler, or an error if two steps share a name, now or
// formerly, or there is none.
func New(declared ...ledger.Declared) (*Plan, error) {
	if len(declared) == 0 {
		return nil, errors.New("there is no step: declare those that the handler does, or leave Steps out")
	}
	p := &Plan{names: []string{}}
	for _, d := range declared {
		if d == nil {
			return nil, errors.New("a step is nil")
		}
		spec, err := d.Declare()
		if err != nil {
			return nil, err
		}
		for _, name := range append(slices.Clone(spec.Was), spec.Name) {
			if slices.Contains(p.names, name) {
				return nil, twice(&spec, name)
			}
			p.names = append(p.names, name)
		}
		if p.hasGone = p.hasGone || spec.Gone; !spec.Gone {
			p.steps = append(p.steps, spec)
		}
	}
	return p, nil
}

// Systems returns the systems that the steps call, in the order of the steps.
func (p *Plan) Systems() (names []string) {
	if p == nil {
		return nil
	}
	for _, s := range p.steps {
		if !s.Signal && !slices.Contains(names, s.System) {
			names = append(names, s.System)
		}
	}
	return names
}

// once reports whether a call of the step is never repeated by itself.
func once(s ledger.Spec) bool { return s.Recover == ledger.Park || s.Recover == ledger.Skip }

// Early returns the first step with Park or Skip that comes before one with Retry or Probe,
// and the name of that one; "" if there is none.
func (p *Plan) Early() (early, before string) {
	if p == nil {
		return "", ""
	}
	for _, s := range p.steps {
		switch {
		case once(s) && early == "":
			early = s.Name
		case !once(s) && !s.Signal && early != "":
			return early, s.Name
		}
	}
	return "", ""
}

// stopMargin is what a stop needs to record the end of a call.
const stopMargin = 2 * time.Second

// CutOff returns an error for each step whose calls would be cut off before its Timeout: by
// the end of a run, which takes as long as work at most, or, where they cannot be repeated
// (Park and Skip), by a stop, which waits as long as drain.
func (p *Plan) CutOff(work, drain time.Duration) (errs []error) {
	if p == nil {
		return nil
	}
	for _, s := range p.steps {
		if s.Signal {
			continue
		}
		if s.Timeout > work {
			errs = append(errs, fmt.Errorf("the Timeout of step %s (%s) is above that of its handler (%s): no call would have the time; shorten it, or raise the handler's with consumer.Timeout", s.Name, s.Timeout, work))
		}
		if once(s) && s.Timeout+stopMargin > drain {
			errs = append(errs, fmt.Errorf("the Timeout of step %s (%s) and %s are above Config.DrainTimeout (%s): a stop would leave calls whose outcome is unknown; shorten it, or raise DrainTimeout", s.Name, s.Timeout, stopMargin, drain))
		}
	}
	return errs
}

// twice is the error of a name that stands in the plan already.
func twice(s *ledger.Spec, name string) error {
	if name == s.Name && slices.Contains(s.Was, name) {
		return fmt.Errorf("step %s: its own Name stands in Was: leave it out there", s.Name)
	}
	return fmt.Errorf("two steps have the name %q, now or formerly", name)
}

// Names returns the names of the steps, with former ones and those that are gone.
func (p *Plan) Names() []string {
	if p == nil {
		return []string{}
	}
	return p.names
}

// HasGone reports whether a step is gone.
func (p *Plan) HasGone() bool { return p != nil && p.hasGone }

// Declares returns an error if the plan has no such step.
func (p *Plan) Declares(s ledger.Spec) error {
	if p == nil {
		return ledger.ErrUndeclared
	}
	i := slices.IndexFunc(p.steps, func(declared ledger.Spec) bool { return declared.Name == s.Name })
	switch {
	case i < 0:
		return ledger.ErrUndeclared
	case !reflect.DeepEqual(p.steps[i], s):
		return fmt.Errorf("%w: its %s is another one there", ledger.ErrUndeclared, strings.Join(differ(p.steps[i], s), ", "))
	}
	return nil
}

// differ returns the names of the fields in which two declarations differ.
func differ(a, b ledger.Spec) (fields []string) {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range va.NumField() {
		if !reflect.DeepEqual(va.Field(i).Interface(), vb.Field(i).Interface()) {
			fields = append(fields, va.Type().Field(i).Name)
		}
	}
	return fields
}

// Furthest compares two rows of one step, which were written under two of its names: the one
// that says more comes first. What is known to be done decides, then what may be.
func Furthest(a, b ledger.Row) int { return rank(b) - rank(a) }

func rank(r ledger.Row) int {
	switch {
	case r.State == ledger.Done:
		return 4
	case r.LacksResult():
		return 3
	case r.State == ledger.Failed:
		return 0
	case r.State == ledger.Skipped:
		return 1
	}
	return 2
}
