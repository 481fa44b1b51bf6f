package condition

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/headrace/headrace/alerts"
)

// Page is the page of headrace ui about an alert, below the address of the pages, and what it shows
// there; "" is the overview.
func Page(a alerts.Alert) (path string, of url.Values) {
	of = make(url.Values)
	add := func(name, value string) {
		if value != "" {
			of.Set(name, value)
		}
	}
	switch a.Kind {
	case alerts.GroupFailing:
		if path = "search"; a.ErrorFingerprint != "" {
			path = "g/" + url.PathEscape(a.ErrorFingerprint)
		}
		add("consumer", a.Consumer)
		add("handler", a.Handler)
	case alerts.LettersOld, alerts.LettersExpire:
		path = "search"
		add("consumer", a.Consumer)
	case alerts.BacklogLag, alerts.ConsumerAbsent, alerts.ConsumerCrashing, alerts.PauseForgotten, alerts.SinkFailing, alerts.SubscriptionStalled:
		path = "consumers"
		add("consumer", a.Consumer)
	case alerts.OutboxLag, alerts.RowsParked:
		path = "outbox"
	case alerts.StepParked, alerts.StepSkipped, alerts.StepDoubled:
		path = "steps"
	case alerts.RedrivePaused, alerts.RedriveStalled, alerts.RedriveEnded:
		path = "redrives"
		if id, err := strconv.ParseInt(strings.TrimPrefix(a.Topic, "R-"), 10, 64); err == nil {
			path = "r/" + strconv.FormatInt(id, 10)
		}
	}
	return path, of
}
