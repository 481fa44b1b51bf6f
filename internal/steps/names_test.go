package steps_test

import (
	"context"
	"slices"
	"testing"

	"github.com/headrace/headrace/ledger"
)

// Steps are known by their names alone: a release that reorders them, or puts one between
// them, calls only the new one.
//
//evidence:ledger
func TestReorderedSteps(t *testing.T) {
	onEachStore(t, func(b *bed) {
		var called []string
		do := func(names ...string) {
			var declared []ledger.Declared
			for _, name := range names {
				declared = append(declared, stepNamed(name))
			}
			r, ctx := b.begin(declared...)
			defer r.End()
			for _, name := range names {
				got, err := stepNamed(name).Do(ctx, func(context.Context, *ledger.Call) (string, error) {
					called = append(called, name)
					return "made by " + name, nil
				})
				if err != nil || got != "made by "+name {
					b.Errorf("%s: %q, %v", name, got, err)
				}
			}
		}
		do("first", "second")
		do("second", "new", "first")
		if want := []string{"first", "second", "new"}; !slices.Equal(called, want) {
			b.Errorf("called %q, want %q", called, want)
		}
	})
}

func stepNamed(name string) ledger.Step[string] {
	return ledger.Step[string]{Name: name, System: "erp", Recover: ledger.Retry, KeyWindow: ledger.Forever}
}
