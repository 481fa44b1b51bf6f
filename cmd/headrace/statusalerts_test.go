package main

import (
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
)

// Status warns of what fires, unless it shows the matter by itself: a stalled relay is seen by its
// process alone.
func TestStatusWarnsOfAlerts(t *testing.T) {
	p := newProgram(t)
	db, err := parseDSN(p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	st, err := New().open(t.Context(), db, "", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	put := func(kind alerts.Kind, state condition.State) {
		c := condition.Condition{Namespace: "billing", State: state, Instance: "i-1", BaseAt: time.Now()}
		c.Alert = alerts.Alert{
			Key: string(kind), Kind: kind, Severity: alerts.Critical, Consumer: "billing", Since: time.Now(),
			Title: "billing: told by " + string(kind), Command: "headrace outbox status",
		}
		if _, err := st.Operations().Conditions.Put(t.Context(), "", "", condition.Change{Conditions: []condition.Condition{c}}); err != nil {
			t.Fatal(err)
		}
	}
	put(alerts.WorkWithoutOwner, condition.Firing)
	put(alerts.SourceDown, condition.Pending)
	p.run(exitDone, nil, "status")
	put(alerts.RelayStalled, condition.Firing)
	p.run(exitPartial, nil, "status")
	p.wants("status", "billing: told by relay_stalled, since 20", ": headrace outbox status")
	p.run(exitDone, nil, "alert", "ls")
	p.wants("alert ls", "told by relay_stalled", "no process of billing judges its alerts: they stand as they were")
}
