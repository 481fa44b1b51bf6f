package ui_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/headrace/headrace/dlq/job"
)

// The path from the overview to redriven letters, with plain links and forms: at most 5 clicks.
//
//evidence:path
func TestPathByClicks(t *testing.T) {
	f := newFixture(t)
	f.fail(3)
	_, stop := f.run("v1.8.1", func(paid) error { return nil })
	defer stop()
	f.path()
}

func (f *fixture) path() {
	f.Helper()
	f.get("/")
	f.wants(http.StatusOK, "the total is negative", "Dead letters open 3")
	f.get("/g/" + f.letters()[0].ErrorFingerprint)
	f.wants(http.StatusOK, "v1.8.1 runs on 1 of 1", "Since build v1.8.0", "3 open letters")
	f.click("/rehearse")
	f.wants(http.StatusOK, "All 3 rehearsed letters would pass")
	f.click("/plan")
	f.wants(http.StatusOK, "Redrive 3 letters?", "billing runs v1.8.1 on 1")
	f.click("/apply", "reason", "the credit notes are fixed")
	f.wants(http.StatusOK, "Redrive of 3 letters", "the credit notes are fixed")
	path := f.at
	f.eventually("the redrive is done", func() bool {
		f.get(path)
		return strings.Contains(f.body, ">done</span>&ensp;R-1")
	})
	f.get("/redrives")
	f.wants(http.StatusOK, "R-1", string(job.Done))
}
