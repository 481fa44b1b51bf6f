package condition_test

import (
	"testing"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
)

// An alert leads to the page about it.
func TestPage(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]alerts.Alert{
		"g/7f3a consumer=c&handler=h": {Kind: alerts.GroupFailing, Consumer: "c", Handler: "h", ErrorFingerprint: "7f3a"},
		"search consumer=c&handler=h": {Kind: alerts.GroupFailing, Consumer: "c", Handler: "h"}, // a storm
		"search consumer=c":           {Kind: alerts.LettersOld, Consumer: "c"},
		"consumers consumer=c":        {Kind: alerts.ConsumerAbsent, Consumer: "c"},
		"outbox ":                     {Kind: alerts.RowsParked, Consumer: "c"},
		"steps ":                      {Kind: alerts.StepParked, Consumer: "c"},
		"r/42 ":                       {Kind: alerts.RedriveEnded, Topic: "R-42"},
		"redrives ":                   {Kind: alerts.RedrivePaused, Topic: "R-x"},
		" ":                           {Kind: alerts.Paused, Consumer: "c"},
	} {
		if path, of := condition.Page(a); path+" "+of.Encode() != want {
			t.Errorf("%s leads to %q %q, want %q", a.Kind, path, of.Encode(), want)
		}
	}
}
