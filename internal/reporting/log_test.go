package reporting

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/headrace/headrace/alerts"
)

// A pause of the database is in the log already, with its cause; what a person paused is not,
// whichever came first.
func TestLogLeavesOutPausesOfTheDatabase(t *testing.T) {
	var out bytes.Buffer
	log := Log(slog.New(slog.NewTextHandler(&out, nil)))
	database := alerts.Alert{Kind: alerts.Paused, Severity: alerts.Critical, Text: "the database cannot run our statements"}
	person := alerts.Alert{Kind: alerts.Paused, Severity: alerts.Warning, Text: "a person paused the consumer"}
	resumed := alerts.Alert{Kind: alerts.Resumed, Text: "messages are handled again"}
	for _, c := range []struct {
		name   string
		told   []alerts.Alert
		logged int
	}{
		{"the end of a pause that another process began", []alerts.Alert{resumed}, 1},
		{"the database", []alerts.Alert{database, resumed}, 0},
		{"a person", []alerts.Alert{person, resumed}, 2},
		{"the database, then a person", []alerts.Alert{database, person, resumed}, 2},
		{"a person, then the database", []alerts.Alert{person, database, resumed}, 1},
		{"something else meanwhile", []alerts.Alert{database, {Kind: alerts.SourceDown}, resumed}, 1},
	} {
		out.Reset()
		for _, a := range c.told {
			if err := log(context.Background(), a); err != nil {
				t.Error(err)
			}
		}
		if got := strings.Count(out.String(), "\n"); got != c.logged {
			t.Errorf("%s: %d lines, want %d:\n%s", c.name, got, c.logged, &out)
		}
	}
}
