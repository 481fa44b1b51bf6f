package plan_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/plan"
	"github.com/headrace/headrace/ledger"
)

var charge = ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: 24 * time.Hour}

// A plan refuses names that two steps share.
func TestPlan(t *testing.T) {
	t.Parallel()
	was := charge
	was.Name, was.Was = "payment", []string{"charge"}
	for name, declared := range map[string][]ledger.Declared{
		"twice":         {charge, charge},
		"a former name": {charge, was},
		"gone":          {charge, ledger.Gone("charge")},
		"nil":           {nil},
		"invalid":       {ledger.Step[string]{Name: "x"}},
	} {
		if _, err := plan.New(declared...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	slow := ledger.Step[struct{}]{Name: "mail", System: "smtp", Recover: ledger.Skip, Timeout: time.Minute}
	long := charge
	long.Timeout = time.Hour
	p, err := plan.New(long, slow, ledger.Gone("old"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		work, drain time.Duration
		want        []string
	}{
		"fits":         {time.Hour, 62 * time.Second, nil},
		"a short run":  {time.Minute, 62 * time.Second, []string{"step charge (1h0m0s) is above that of its handler (1m0s)"}},
		"a short stop": {time.Hour, 61 * time.Second, []string{"step mail (1m0s) and 2s are above Config.DrainTimeout (1m1s)"}},
	} {
		errs := p.CutOff(c.work, c.drain)
		if len(errs) != len(c.want) || len(errs) == 1 && !strings.Contains(errs[0].Error(), c.want[0]) {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// The error of a step that is declared otherwise names what differs, and one that was itself
// says so.
func TestDeclaredOtherwise(t *testing.T) {
	t.Parallel()
	p, err := plan.New(charge)
	if err != nil {
		t.Fatal(err)
	}
	other := charge
	other.Timeout, other.Was = time.Minute, []string{"payment"}
	spec, err := other.Declare()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Declares(spec); !errors.Is(err, ledger.ErrUndeclared) || !strings.Contains(err.Error(), "its Was, Timeout is another one there") {
		t.Errorf("%v", err)
	}
	itself := charge
	itself.Was = []string{"charge"}
	if _, err := plan.New(itself); err == nil || !strings.Contains(err.Error(), "step charge: its own Name stands in Was") {
		t.Errorf("%v", err)
	}
}
