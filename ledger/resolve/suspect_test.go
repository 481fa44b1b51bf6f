package resolve_test

import (
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/ledger/resolve"
)

// Who begins and ends suspect mode is in the audit trail.
//
//evidence:suspect-mode
func TestSuspect(t *testing.T) {
	enginetest.OnEachStore(t, func(x *enginetest.Fixture) {
		admin, mode := resolve.New(x.Store.Store), x.Store.Operations().Suspect
		if err := admin.EndSuspect(x.Context(), "ana", "over"); !errors.Is(err, resolve.ErrNotFound) {
			x.Errorf("it was off: %v", err)
		}
		until := time.Now().UTC().Truncate(time.Second)
		for name, err := range map[string]error{
			"no time":   admin.BeginSuspect(x.Context(), time.Time{}, "ana", "a restore"),
			"no person": admin.BeginSuspect(x.Context(), until, " ", "a restore"),
			"no reason": admin.BeginSuspect(x.Context(), until, "ana", ""),
			"end":       admin.EndSuspect(x.Context(), "ana", ""),
		} {
			if !errors.Is(err, resolve.ErrInvalid) {
				x.Errorf("%s: %v", name, err)
			}
		}
		if err := admin.BeginSuspect(x.Context(), until, "ana", "a restore"); err != nil {
			x.Fatal(err)
		}
		if m, err := mode.Get(x.Context()); err != nil || !m.Until.Equal(until) || m.By != "ana" || m.Reason != "a restore" {
			x.Errorf("%+v, %v", m, err)
		}
		if err := admin.EndSuspect(x.Context(), "bob", "all were compared"); err != nil {
			x.Fatal(err)
		}
		if m, err := mode.Get(x.Context()); err != nil || !m.Until.IsZero() {
			x.Errorf("%+v, %v", m, err)
		}
		trail, err := x.Store.Operations().Audit.List(x.Context(), audit.Filter{Kind: audit.Suspect}, 0, 10)
		if err != nil || len(trail) != 2 || trail[1].Action != "begin" || trail[1].By != "ana" || trail[0].Action != "end" || trail[0].By != "bob" {
			x.Errorf("%+v, %v", trail, err)
		}
	})
}
