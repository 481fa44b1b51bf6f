package ui_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/who"
)

// A redrive that has paused says why, what of the rest others have decided on, and how it goes on or ends.
func TestPausedRedrive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(3)
	_, stop := f.run("v1.8.1", func(paid) error { return retry.Permanent(errors.New("still negative")) })
	f.counted()
	f.get("/g/" + f.letters()[0].ErrorFingerprint)
	f.click("/plan")
	f.click("/apply", "reason", "a fix")
	is := func(s job.State) {
		t.Helper()
		f.eventually("the redrive is "+string(s), func() bool {
			r, err := f.st.Operations().Redrives.Get(t.Context(), 1)
			return err == nil && r.State == s
		})
	}
	is(job.Paused)
	f.get("/r/1")
	f.wants(http.StatusOK, "It has paused:", "failed again", "to go 2", "headrace redrive resume R-1", "headrace redrive cancel R-1 --reason WHY")
	if strings.Contains(f.text(), "still open") || strings.Contains(f.text(), "redrive watch") || strings.Contains(f.text(), "Others have decided") {
		t.Error(f.text())
	}
	if _, err := redrive.New(f.st).Discard(t.Context(), redrive.Request{Filter: dlq.Filter{IDs: []int64{2}}, By: "bo", Reason: "a test order"}); err != nil {
		t.Fatal(err)
	}
	f.me.Role = who.Viewer
	f.get("/r/1")
	f.wants(http.StatusOK, "Others have decided on 1 of those to go: they are skipped", "headrace redrive resume R-1", "headrace redrive cancel R-1 --reason WHY")
	if strings.Contains(f.body, `method="post"`) {
		t.Error("a viewer has forms")
	}
	f.me.Role = who.Operator
	stop()
	_, stop = f.run("v1.8.2", func(paid) error { return nil })
	defer stop()
	f.get("/r/1")
	f.click("/resume")
	f.wants(http.StatusConflict, "Refused", "--accept-build goes on", "It has paused:")
	f.click("/resume", "accept", "1")
	f.wants(http.StatusOK)
	is(job.Done)
	f.get("/r/1")
	f.wants(http.StatusOK, "succeeded 1", "failed again 1", "skipped 1", "not sent 0")
}

// Of two people who plan at the same moment the second gets the first one's plan, or the present state. Who plans the same
// letters later is told of the plan that is open.
func TestTwoPlanAtOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture, other store.Store) {
		f.fail(2)
		_, stop := f.run("v1.8.1", func(paid) error { return nil })
		defer stop()
		f.counted()
		bo := on(f.T, other, ui.Options{})
		bo.me.Name = "bo"
		page := "/g/" + f.letters()[0].ErrorFingerprint
		var clicks sync.WaitGroup
		for _, p := range []*fixture{f, bo} {
			p.get(page)
			path, fields := p.form("/plan")
			clicks.Go(func() { p.sendOnce("POST", path, fields) })
		}
		clicks.Wait()
		for _, p := range []*fixture{f, bo} {
			if led := p.header.Get("Location"); p.status != http.StatusConflict && (p.status != http.StatusSeeOther || led != "/r/1") {
				f.Errorf("%s got %d %s", p.me.Name, p.status, led)
			}
		}
		f.get("/r/1")
		f.wants(http.StatusOK, "planned")
		if strings.Contains(f.text(), "Another plan") {
			f.Error("there is no other plan")
		}
		for _, p := range []*fixture{f, bo} {
			p.get("/l/1")
			p.click("/plan")
		}
		bo.wants(http.StatusOK, "Another plan of the same letters is open: R-2 by ann")
	})
}
