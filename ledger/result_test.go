package ledger_test

import (
	"context"
	"strings"
	"testing"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// recorded is a session in which every step is done, with this result.
type recorded string

func (r recorded) Do(context.Context, ledger.Request) ([]byte, error)    { return []byte(r), nil }
func (r recorded) Await(context.Context, ledger.Request) ([]byte, error) { return []byte(r), nil }
func (recorded) Begun(context.Context) (bool, error)                     { return true, nil }

// reads has a step with results of T read what is recorded, and fails t unless it gets want,
// or a permanent error that says so.
func reads[T comparable](t *testing.T, json string, want T, says string) {
	t.Helper()
	step := ledger.Step[T]{Name: "charge", System: "bank", Recover: ledger.Park}
	got, err := step.Do(ledger.With(t.Context(), recorded(json)), func(context.Context, *ledger.Call) (T, error) { return want, nil })
	switch {
	case got != want:
		t.Errorf("%s is read as %+v", json, got)
	case says == "" && err != nil, says != "" && (err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "step charge") || !retry.IsPermanent(err)):
		t.Errorf("%s: %v, not %q", json, err, says)
	}
}

// DESIGN §3 Steps: what one build has recorded and another one reads.
//
//evidence:ledger
func TestResultOfAnotherBuild(t *testing.T) {
	type one struct{ ID string }
	type two struct {
		ID  string `json:"id"`
		Fee int    `json:"fee"`
	}
	type optional struct {
		Number string `json:"number,omitempty"`
	}
	type nested struct {
		Charge [1]one
	}
	// A newer build has added a field, or removed one: a rolling deploy goes on both ways.
	reads(t, `{"ID":"1","Fee":2}`, one{"1"}, "")
	reads(t, `{"ID":"1"}`, two{ID: "1"}, "")
	reads(t, `{"Charge":[{"ID":"1","Fee":2}],"At":"now"}`, nested{[1]one{{"1"}}}, "")
	reads(t, `"1"`, struct{}{}, "") // its result is not needed any more
	// Renamed: it would be a zero value.
	reads(t, `{"Number":"1"}`, one{}, `the field "Number", which is unknown, and not "ID"`)
	reads(t, `{"number":"1","fee":2}`, two{}, `the field "number", which is unknown, and not "id"`)
	reads(t, `{"Charge":[{"Number":"1"}]}`, nested{}, `the field "Number"`)
	reads(t, `{"id":"1"}`, optional{}, "all its fields are unknown")
	// Another type.
	reads(t, `"1"`, 0, "does not fit int")
	reads(t, `"1"`, one{}, "steps resolve SCOPE KEY STEP --done --result FILE --force")

	_, err := ledger.Signal[int]{Name: "approval", Timeout: ledger.DefaultFindAfter}.Await(ledger.With(t.Context(), recorded(`true`)))
	if !retry.IsPermanent(err) || !strings.Contains(err.Error(), "signal approval") {
		t.Errorf("%v", err)
	}
}
