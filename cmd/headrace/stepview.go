package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/ledger"
)

// stepView is a step as JSON.
type stepView struct {
	Scope      string       `json:"scope"`
	Key        string       `json:"key"`
	Step       string       `json:"step"`
	System     string       `json:"system"`
	State      ledger.State `json:"state"`
	Calls      int          `json:"calls"`
	Via        ledger.Via   `json:"via,omitempty"`
	ExternalID string       `json:"external_id,omitempty"`
	OtherID    string       `json:"other_id,omitempty"` // of a second call that was carried out too
	// IdempotencyKey is that of the latest call.
	IdempotencyKey string    `json:"idempotency_key,omitempty"`
	Changed        time.Time `json:"changed_at"`
	// Until is when the time of a signal is over that the message waits for.
	Until       time.Time `json:"until,omitzero"`
	Error       string    `json:"error,omitempty"`
	ResultBytes int       `json:"result_bytes"` // -1 if there is no result
	// Result is the result itself; a text if what hides secrets in it has left no JSON.
	Result json.RawMessage `json:"result,omitempty"`
	By     string          `json:"resolved_by,omitempty"`
	Reason string          `json:"reason,omitempty"`
}

// viewSteps returns rows as JSON; database is its id, from which keys are computed.
func viewSteps(database string, rows []ledger.Row) []stepView {
	views := make([]stepView, 0, len(rows))
	for _, r := range rows {
		v := stepView{
			Scope: r.ID.Scope, Key: r.ID.Key, Step: r.Step, System: r.System, State: r.State, Calls: r.Calls, Via: r.Via,
			ExternalID: r.ExternalID, OtherID: r.OtherID, Changed: r.Changed, Error: r.Error, ResultBytes: r.Size, Result: resultJSON(r.Result),
			By: r.By, Reason: r.Reason, IdempotencyKey: inspect.StepKey(database, r),
		}
		if r.State == ledger.Awaiting {
			v.Until = time.Now().Add(-r.Age)
		}
		views = append(views, v)
	}
	return views
}

func resultJSON(result []byte) json.RawMessage {
	if result != nil && !json.Valid(result) {
		result, _ = json.Marshal(string(result)) // a text always can be
	}
	return result
}

// stepsOf returns the steps of a message, without results.
func stepsOf(ctx context.Context, st openStore, id inbox.ID) ([]stepView, error) {
	rows, err := st.Operations().Steps.List(ctx, id)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	database, err := st.Operations().Schema.Check(ctx)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].Result = nil
	}
	return viewSteps(database, rows), nil
}

// stepColumns are the titles of line.
var stepColumns = []string{"STEP", "SYSTEM", "STATE", "CALLS", "VIA", "EXTERNAL ID", "CHANGED", "ERROR"}

// line is a row of a table.
func (v stepView) line() []string {
	id, fault := text(v.ExternalID), v.Error
	if !v.Until.IsZero() {
		fault = "until " + when(v.Until)
	}
	if v.OtherID != "" {
		id += ", and twice: " + v.OtherID
	}
	return []string{
		short(v.Step, 40), short(text(v.System), 20), string(v.State), fmt.Sprint(v.Calls), text(string(v.Via)), short(id, 60), when(v.Changed), short(text(fault), 60),
	}
}
