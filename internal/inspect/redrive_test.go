package inspect

import (
	"testing"

	"github.com/headrace/headrace/dlq/job"
)

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
