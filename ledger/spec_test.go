package ledger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/ledger"
)

// An invalid step is refused with the name of its field, and a hint.
func TestDeclare(t *testing.T) {
	t.Parallel()
	type step = ledger.Step[struct{}]
	for want, s := range map[string]step{
		"Name is empty":              {System: "erp", Recover: ledger.Park},
		"contains a slash":           {Name: "a/b", System: "erp", Recover: ledger.Park},
		"contains a control":         {Name: "a\n", System: "erp", Recover: ledger.Park},
		"System \"e\\trp\" contains": {Name: "a", System: "e\trp", Recover: ledger.Park},
		"Was has 200 bytes":          {Name: "a", Was: []string{strings.Repeat("x", 200)}, System: "erp", Recover: ledger.Park},
		"System is empty":            {Name: "a", Recover: ledger.Park},
		"not valid UTF-8":            {Name: "a", System: "\xff", Recover: ledger.Park},
		"no Recover":                 {Name: "a", System: "erp"},
		`the Recover "redo"`:         {Name: "a", System: "erp", Recover: "redo"},
		"needs a KeyWindow":          {Name: "a", System: "erp", Recover: ledger.Retry},
		"a KeyWindow is for Retry":   {Name: "a", System: "erp", Recover: ledger.Park, KeyWindow: time.Hour},
		"is not above Timeout":       {Name: "a", System: "erp", Recover: ledger.Retry, KeyWindow: time.Second},
		"needs a Find":               {Name: "a", System: "erp", Recover: ledger.Probe},
		"give it a unit":             {Name: "a", System: "erp", Recover: ledger.Park, Timeout: 30},
		"FindAfter is -1s: give it":  {Name: "a", System: "erp", Recover: ledger.Park, FindAfter: -time.Second},
		"FindAfter is longer than":   {Name: "a", System: "erp", Recover: ledger.Park, FindAfter: ledger.Forever},
		"Timeout is longer than":     {Name: "a", System: "erp", Recover: ledger.Park, Timeout: ledger.Forever},
	} {
		if _, err := s.Declare(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if _, err := (ledger.Step[int]{Name: "a", System: "erp", Recover: ledger.Skip}).Declare(); err == nil || !strings.Contains(err.Error(), "Step[struct{}]") {
		t.Errorf("Skip with a result: %v", err)
	}
	type deep struct{ Next *deep }
	type made struct {
		At   time.Time
		Any  any
		Left func() `json:"-"`
		Deep *deep
	}
	type broken struct{ Parts []map[string]chan int }
	for want, d := range map[string]ledger.Declared{
		"chan int": ledger.Step[chan int]{Name: "a", System: "erp", Recover: ledger.Park}, "func()": ledger.Step[func()]{Name: "a", System: "erp", Recover: ledger.Park},
		"a chan int": ledger.Step[broken]{Name: "a", System: "erp", Recover: ledger.Park}, "complex128": ledger.Signal[complex128]{Name: "a", Timeout: time.Hour},
	} {
		if _, err := d.Declare(); err == nil || !strings.Contains(err.Error(), "cannot be kept as JSON: it has a "+strings.TrimPrefix(want, "a ")) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := (ledger.Step[made]{Name: "a", System: "erp", Recover: ledger.Park}).Declare(); err != nil {
		t.Error(err)
	}
	if _, err := ledger.Gone("").Declare(); err == nil {
		t.Error("Gone without a name")
	}
	spec, err := step{Name: "a", System: "erp", Recover: ledger.Retry, KeyWindow: ledger.Forever}.Declare()
	if err != nil || spec.Timeout != ledger.DefaultTimeout || spec.FindAfter != ledger.DefaultFindAfter || spec.HasResult || spec.HasFind {
		t.Errorf("%+v, %v", spec, err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for whole, parts := range map[string][2]string{"a": {"a", ""}, "a/1": {"a", "1"}, "a/b/c": {"a", "b/c"}} {
		if got := ledger.StepName(parts[0], parts[1]); got != whole {
			t.Errorf("%q", got)
		}
		if got := ledger.NameOf(whole); got != parts[0] {
			t.Errorf("%q", got)
		}
	}
}
