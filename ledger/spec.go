package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/headrace/headrace/internal/encode"
)

// Spec is a declaration of a step without its types and functions.
type Spec struct {
	// Name, System, Was, Recover, KeyWindow, FindAfter, Timeout and Memo are as in Step, with
	// their defaults.
	Name, System                        string
	Was                                 []string
	Recover                             Recovery
	KeyWindow, FindAfter, Timeout, Memo time.Duration
	// HasFind says that it has a Find, HasResult that it has a result.
	HasFind, HasResult bool
	// Signal says that it is a Signal, whose Timeout is that of the wait.
	Signal bool
	// Gone says that it is only the name of a step that no handler has any more.
	Gone bool
}

// Declared is a step as consumer.Steps takes it: a Step or a Signal of any type, or Gone.
type Declared interface {
	// Declare returns the declaration, or an error that names the first field that is
	// invalid.
	Declare() (Spec, error)
}

// Declare returns the step's declaration, with its defaults.
func (s Step[T]) Declare() (Spec, error) {
	var result any = new(T)
	_, empty := result.(*struct{})
	spec := Spec{
		Name: s.Name, System: s.System, Was: slices.Clone(s.Was), Recover: s.Recover, KeyWindow: s.KeyWindow,
		FindAfter: cmp.Or(s.FindAfter, DefaultFindAfter), Timeout: cmp.Or(s.Timeout, DefaultTimeout), Memo: s.Memo,
		HasFind: s.Find != nil, HasResult: !empty,
	}
	err := spec.validate()
	if err == nil {
		err = encode.CheckJSON(reflect.TypeFor[T]())
	}
	if err != nil {
		return Spec{}, fmt.Errorf("ledger.Step %s: %w", s.Name, err)
	}
	return spec, nil
}

// Unsettled is how long after the begin of a call the system may still work on it.
func (s Spec) Unsettled() time.Duration { return s.Timeout + s.FindAfter }

// Gone declares a step that the handler had and has no more: a message for which it is
// recorded may go on without it.
func Gone(name string) Declared { return gone(name) }

type gone string

func (g gone) Declare() (Spec, error) {
	if err := checkName("Name", string(g)); err != nil {
		return Spec{}, fmt.Errorf("ledger.Gone: %w", err)
	}
	return Spec{Name: string(g), Gone: true}, nil
}

// leastTime is the shortest sensible time: a shorter one is a number without a unit. longestTime
// is the longest of a Timeout and a FindAfter: their sum with Forever would be less than 0.
const (
	leastTime   = time.Millisecond
	longestTime = 365 * 24 * time.Hour
)

func (s Spec) validate() error {
	if err := checkName("Name", s.Name); err != nil {
		return err
	}
	for _, was := range s.Was {
		if err := checkName("Was", was); err != nil {
			return err
		}
	}
	if err := CheckSystem(s.System); err != nil {
		return err
	}
	for name, d := range map[string]time.Duration{"KeyWindow": s.KeyWindow, "FindAfter": s.FindAfter, "Timeout": s.Timeout, "Memo": s.Memo} {
		if d < 0 || d > 0 && d < leastTime {
			return fmt.Errorf("%s is %s: give it a unit, as in time.Minute", name, d)
		}
		if name != "KeyWindow" && d > longestTime {
			return fmt.Errorf("%s is longer than a year: where nothing can be found out, Recover is Park", name)
		}
	}
	switch {
	case s.Memo > 0 && (s.Recover != Retry || s.KeyWindow != Forever):
		return errors.New("a Memo is for calls that only cost money: it needs a Recover of Retry with a KeyWindow of Forever")
	case s.Memo > 0 && !s.HasResult:
		return errors.New("a Memo shares a result, and the step has none")
	}
	return s.recovery()
}

func (s Spec) recovery() error {
	switch {
	case s.Recover == "":
		return errors.New("no Recover: choose ledger.Retry, Probe, Park or Skip by what the system offers")
	case !slices.Contains([]Recovery{Retry, Probe, Park, Skip}, s.Recover):
		return fmt.Errorf("the Recover %q is unknown: it is one of Retry, Probe, Park and Skip", s.Recover)
	case s.Recover == Retry && s.KeyWindow == 0:
		return fmt.Errorf("a Recover of Retry needs a KeyWindow: say how long %s drops repetitions of a key, or Forever", s.System)
	case s.Recover != Retry && s.KeyWindow != 0:
		return fmt.Errorf("a KeyWindow is for Retry: with %s it has no effect", s.Recover)
	case s.Recover == Retry && s.KeyWindow <= s.Timeout:
		return fmt.Errorf("the KeyWindow (%s) is not above Timeout (%s): no call could be repeated", s.KeyWindow, s.Timeout)
	case s.Recover == Probe && !s.HasFind:
		return errors.New("a Recover of Probe needs a Find")
	case s.Recover == Skip && s.HasFind:
		return errors.New("a Find is never asked with Skip: leave it out, or choose Probe")
	case s.Recover == Skip && s.HasResult:
		return errors.New("a Recover of Skip has no result: a step that is skipped has none, so make it a Step[struct{}]")
	}
	return nil
}

// checkName returns an error if name is not valid for a step.
func checkName(what, name string) error {
	if strings.Contains(name, "/") {
		return fmt.Errorf("%s %q contains a slash", what, name)
	}
	return checkLine(what, name)
}

// checkLine is checkText for what is written in the program.
func checkLine(what, text string) error {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Errorf("%s %q contains a control character", what, text)
	}
	return checkText(what, text)
}

// checkText returns an error if text is not valid for a part of a step's name.
func checkText(what, text string) error {
	if text == "" {
		return fmt.Errorf("%s is empty", what)
	}
	return encode.Check(what, text, maxName)
}

// StepName is the whole name of a step: its name, a slash and its item, or its name
// without an item.
func StepName(name, item string) string {
	if item == "" {
		return name
	}
	return name + "/" + item
}

// NameOf is the name of a step without its item.
func NameOf(step string) string {
	name, _, _ := strings.Cut(step, "/")
	return name
}
