package watching

import (
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/instance"
)

// Numbers and names of ours are in the texts as they are; those of an error, and what a person wrote,
// are not.
func TestOwnNumbers(t *testing.T) {
	paused := instance.Pause{Consumer: "c", By: "ann", Reason: "card 4711", At: noon}
	for name, c := range map[string]struct {
		facts facts
		want  string // "" for no alert
	}{
		"letters": {facts{redrives: []job.Redrive{{ID: 42, State: job.Paused, Why: "letter 17 failed again as letter 18"}}}, "letter 17 failed again as letter 18."},
		"builds":  {facts{redrives: []job.Redrive{{ID: 42, State: job.Paused, Why: "c runs v1.3 now, and it was applied for v1.2"}}}, "c runs v1.3 now, and it was applied for v1.2."},
		"stalled": {facts{redrives: []job.Redrive{{ID: 42, State: job.Running, Count: 3, Why: "3 letters wait behind the order key of letter 17"}}}, "of letter 17."},
		"pause of the consumer": {facts{pause: paused, redrives: []job.Redrive{{ID: 42, State: job.Running, Count: 3, Why: "c is paused by ann: card 4711"}}},
			"c is paused."},
		"a person's pause": {facts{redrives: []job.Redrive{{ID: 42, State: job.Paused, Why: "by ann: card 4711"}}}, ""},
		"an error":         {facts{groups: []groups.Group{failing("7f3a000011112222", noon)}}, "total of # is #"},
	} {
		f := c.facts
		f.now, f.consumer, f.bounds = noon, "c", alerts.Bounds{}.WithDefaults()
		list := judge(&f)
		if len(list) != 1 && c.want != "" || len(list) > 0 && c.want == "" {
			t.Errorf("%s: %d alerts: %+v", name, len(list), list)
			continue
		}
		for _, a := range list {
			texts := []string{a.Title, a.Text, a.Error}
			if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, c.want) }) || strings.Contains(strings.Join(texts, " "), "4711") {
				t.Errorf("%s: %q", name, texts)
			}
		}
	}
}
