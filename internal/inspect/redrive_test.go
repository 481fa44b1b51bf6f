package inspect

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/dlq/job"
)

// A plan whose application would be refused, or do nothing, leads elsewhere.
func TestPlanLeadsOn(t *testing.T) {
	r := job.Redrive{ID: 7, Kind: job.Redriving, Consumer: "billing", Count: 3}
	for want, list := range map[string][]Check{
		"":                    append(ofLetters(r, job.Survey{Conflicts: 2, Review: 1}, job.Survey{Letters: 3, Closed: 2}), ofBuilds(r, map[string]int{"v2": 3}), ofBuilds(job.Redrive{Kind: job.Discarding}, map[string]int{"v1": 1, "v2": 1})),
		"consumer ls billing": {ofBuilds(r, nil)},
		"redrive apply R-7 --wait 10m --reason WHY":  {ofBuilds(r, map[string]int{"v1": 1, "v2": 1})},
		"redrive cancel R-7 --reason WHY":            ofLetters(r, job.Survey{}, job.Survey{Letters: 3, Closed: 3}),
		"dlq ls --consumer billing --class conflict": ofLetters(r, job.Survey{Conflicts: 3}, job.Survey{Letters: 3}),
		"steps ls": ofLetters(r, job.Survey{Review: 3}, job.Survey{Letters: 3}),
	} {
		got := ""
		for _, c := range list {
			if got == "" {
				got = strings.Join(c.Next, " ")
			}
		}
		if got != want {
			t.Errorf("leads to %q, want %q: %+v", got, want, list)
		}
	}
}

// A plan of many letters says how many it has, and what became of the first ones.
func TestLettersOfAPlan(t *testing.T) {
	for want, c := range map[string]struct {
		count int64
		first job.Survey
	}{
		"3 of 3 open": {3, job.Survey{Letters: 3}},
		"1 of 3 open": {3, job.Survey{Letters: 3, Closed: 2}},
		"812 letters; of the first 100, 99 are open": {812, job.Survey{Letters: 100, Closed: 1}},
	} {
		got := ofLetters(job.Redrive{Count: c.count}, job.Survey{}, c.first)[0]
		if got.Says != want || got.OK != (c.first.Closed == 0) {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}
