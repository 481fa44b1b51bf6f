package main

import (
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
)

// alertsOf are a condition of a consumer that fires, one that fires and is over, and one that was resolved, with what
// sinks got.
func alertsOf(consumer string) condition.Change {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fires := condition.Condition{
		Alert: alerts.Alert{
			Key: "7f3a", Kind: alerts.GroupFailing, Phase: alerts.Firing, Severity: alerts.Error, Consumer: consumer, Handler: "orders.paid",
			Environment: "production", Database: "shop", Schema: "public", Build: "v1.2.3", Class: "exhausted", ErrorFingerprint: "a2760b6d90f6c678",
			Title: consumer + "/orders.paid fails: no\x1b[2J customer #", Text: "It fails.", Error: "no customer #", Command: "headrace dlq why a2760b6d90f6c678", Count: 3, Since: at,
			Links: []alerts.Link{{Name: "group", URL: "https://ops.example.com/g/a276"}},
		},
		Namespace: consumer, State: condition.Firing, Known: true, Base: 3, BaseAt: at,
	}
	over := condition.Condition{
		Alert: alerts.Alert{
			Key: "0c0c", Kind: alerts.SourceDown, Phase: alerts.Resolved, Severity: alerts.Critical, Consumer: consumer, Environment: "production",
			Title: consumer + ": the broker does not serve it", Text: "The broker is away.", Command: "headrace consumer ls " + consumer, Count: 1, Since: at,
		},
		Namespace: consumer, Instance: "i-1", State: condition.Resolved, Quiet: at.Add(time.Minute), Ended: at.Add(6 * time.Minute), BaseAt: at,
	}
	ending := condition.Condition{
		Alert: alerts.Alert{
			Key: "1d1d", Kind: alerts.PauseForgotten, Phase: alerts.Firing, Severity: alerts.Warning, Consumer: consumer, Environment: "production",
			Title: consumer + ": a person paused it, and messages wait", Text: "It is paused.", Command: "headrace consumer ls " + consumer, Count: 1, Since: at,
		},
		Namespace: consumer, State: condition.Firing, Quiet: at.Add(time.Minute), BaseAt: at,
	}
	return condition.Change{
		Conditions: []condition.Condition{fires, ending, over},
		Sends: []condition.Send{
			{Key: "7f3a", Sink: "slack", Phase: alerts.Again, Severity: alerts.Error, Count: 3, Sent: at},
			{Key: "7f3a", Sink: "pagerduty", Failures: 2, Failing: at, Down: at, Due: at, Error: "pagerduty: status 503", Lost: 1},
			{Key: "0c0c", Sink: "slack", Phase: alerts.Resolved, Severity: alerts.Critical, Count: 1, Sent: at},
		},
	}
}
