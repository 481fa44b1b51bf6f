//go:build unix

package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/who"
)

// mostBuffers is how many pages a statement of a view may read, however many rows there are.
const mostBuffers = 2500

// view is what a person looks at.
type view struct {
	name string
	args []string // of the command
	page string   // or of the pages in a browser
	exit int
}

// fingerprint is a group, of the handler h3.
const fingerprint = "013d8d1b34b12e1c" // (3 + 1) * 22345678901234567

func (c *crowded) views() (list []view) {
	id := fmt.Sprint(c.letters / 2)
	for name, exit := range map[string]int{
		"status": exitPartial, "dlq groups": 0, "dlq why " + fingerprint: 0, "dlq why " + fingerprint + " -o json": 0, "dlq show " + id: 0, "dlq ls": 0, "dlq ls --state any": 0,
		"dlq ls --consumer billing": 0, "dlq ls --handler h3": 0, "dlq ls --topic orders": 0, "dlq ls --class exhausted": 0, "dlq ls --group " + fingerprint: 0,
		"dlq ls --key dead" + id: 0, "dlq ls --since 24h": 0, "dlq ls --until 29d": 0, "dlq ls --build v1.1": 0, "dlq ls --host pod-3": 0,
		"dlq ls --text nosuch": 0, "dlq ls --header tenant=no": 0, "dlq ls --where $.total<0": 0, "dlq ls --host nosuch": 0,
		"dlq groups --topic orders": 0, "dlq groups --since 24h": 0,
		"redrive ls": 0, "redrive show R-1": 0, "redrive letters R-1": 0, "redrive letters R-1 --state queued": 0,
		"backlog ls": 0, "backlog ls --group " + fingerprint: 0, "backlog groups": 0, "backlog show 100": 0, "inbox show message7": 0,
		"outbox status": 0, "outbox parked": 0, "consumer ls": 0, "subscription ls": 0, "steps ls": 0, "steps ls --state skipped": 0, "steps message7": 0, "steps find bank ch_7": 0, "system ls": 0, "audit ls": 0, "audit ls --subject letter:9": 0,
	} {
		list = append(list, view{name: "headrace " + name, args: strings.Fields(name), exit: exit})
	}
	group := "/g/" + fingerprint + "?consumer=billing&handler=h3"
	for _, page := range []string{
		"/", group, "/l/" + id, "/r/1", "/redrives", "/search", "/search?topic=nosuch", "/search?text=nosuch", "/search?where=%24.total%3C0", "/search?state=any",
		"/search?until=2000h", "/search?key=dead" + id, "/consumers", "/consumers?consumer=billing", "/backlog", "/outbox", "/inbox?key=message7", "/audit", "/audit?kind=letter&subject=9",
		"/steps", "/steps?state=skipped&cursor=450", "/steps?state=awaiting", "/steps?state=doubled", "/steps?cursor=450", "/steps?key=message7", "/steps?system=bank&id=ch_7",
		"/q/1", "/find?q=" + fingerprint, "/find?q=message7",
	} {
		list = append(list, view{name: page, page: page})
	}
	slices.SortFunc(list, func(a, b view) int {
		return cmp.Compare(strings.ReplaceAll(a.name, id, ""), strings.ReplaceAll(b.name, id, ""))
	})
	return list
}

// searches says whether a view looks as far as it comes in its time.
func (v view) searches() bool {
	return strings.Contains(v.name, "dlq ls") || strings.Contains(v.name, "dlq groups --") || strings.Contains(v.name, "/search")
}

// look looks at a view, in a process or with pages of its own.
func (c *crowded) look(v view) {
	c.Helper()
	if v.page == "" {
		c.run(v.exit, v.args...)
		return
	}
	c.in(func(st openStore) error {
		pages := ui.New(st, ui.Options{Identify: func(*http.Request) (who.Person, error) { return who.Person{Name: "ann", Role: who.Admin}, nil }, Log: slog.Default()})
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+v.page, nil)
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		if w.Code != http.StatusOK && w.Code != http.StatusSeeOther {
			c.Errorf("%s: %d", v.name, w.Code)
		}
		return nil
	})
}

// No view of PostgreSQL reads more than 2,500 pages, or a whole table that grows.
//
//evidence:group-views
func TestViewsOnPostgres(t *testing.T) {
	c := crowd(t, "postgres", letters(t))
	plans, dsn := explain(t, c.dsn)
	c.dsn = dsn
	for _, v := range c.views() {
		began := time.Now()
		c.look(v)
		took, all := time.Since(began), 0
		var worst statement
		for _, s := range plans.take() {
			all += s.Plan.Hit + s.Plan.Read
			if s.Plan.Hit+s.Plan.Read > worst.Plan.Hit+worst.Plan.Read {
				worst = s
			}
			for _, table := range s.Plan.walked() {
				if grows[table] && c.letters >= 100_000 { // of a small one that is right
					t.Errorf("%s reads %s from end to end: %s", v.name, table, s.Query)
				}
			}
		}
		most := worst.Plan.Hit + worst.Plan.Read
		t.Logf("%5d pages, %5d in all, %4d ms: %s", most, all, took.Milliseconds(), v.name)
		if all == 0 {
			t.Errorf("%s: no statement was explained", v.name)
		}
		if most > mostBuffers || all > mostBuffers && !v.searches() {
			t.Errorf("%s reads %d pages, %d of them in one statement:\n%s", v.name, all, most, worst.Query)
		}
	}
	directIsTheAPI(c, plans)
}

// directIsTheAPI: beside the statements of a redrive by the Go API, dlq redrive --direct has those that count
// the letters before and after it, however many letters there are.
func directIsTheAPI(c *crowded, plans *explained) {
	c.Helper()
	c.run(exitPartial, strings.Fields("dlq redrive --direct --consumer billing --handler h1 --limit 200 --yes --reason fixed")...)
	command := len(plans.take())
	c.in(func(st openStore) error {
		_, err := redrive.New(st).Redrive(c.Context(), redrive.Request{Filter: dlq.Filter{Consumer: "billing", Handler: "h1"}, Limit: 200, By: "ann", Reason: "fixed"})
		return err
	})
	const most = 2
	if api := len(plans.take()); command > api+most || api == 0 {
		c.Errorf("--direct takes %d statements, and the Go API %d", command, api)
	}
}

// grows are the tables that have a row for each message, event, letter or decision.
var grows = map[string]bool{
	"headrace_inbox": true, "headrace_backlog": true, "headrace_outbox": true, "headrace_outbox_held": true, "headrace_dead_letters": true,
	"headrace_audit": true, "headrace_requests": true, "headrace_redrive_letters": true, "headrace_attempts": true, "headrace_steps": true, "headrace_group_hours": true,
}

// No view on SQLite takes much more of the processor with many letters than with few, of the same number of groups. The
// clock would tell of what else this machine does.
//
//evidence:group-views
func TestViewsOnSQLite(t *testing.T) {
	many := crowd(t, "sqlite", letters(t))
	if many.letters < 100_000 { // their times say nothing
		for _, v := range many.views() {
			many.look(v)
		}
		return
	}
	few := crowd(t, "sqlite", many.letters/50)
	for i, v := range few.views() {
		of := many.views()[i]
		small, large := quickest(few, v), quickest(many, of)
		t.Logf("%4d ms of the processor, and %4d ms with few: %s", large.Milliseconds(), small.Milliseconds(), of.name)
		most := 3*small + 100*time.Millisecond
		if v.searches() { // it ends after the window with which its time is used up
			most += 2 * search.DefaultBudget
		}
		if large > most {
			t.Errorf("%s takes %s of the processor, and %s with few letters", of.name, large, small)
		}
	}
}

// quickest is the least processor time of three looks, with what collecting garbage took.
func quickest(c *crowded, v view) (took time.Duration) {
	for range 3 {
		began := processorTime(c)
		c.look(v)
		if t := processorTime(c) - began; took == 0 || t < took {
			took = t
		}
	}
	return took
}

// processorTime is what this process has used so far.
func processorTime(c *crowded) time.Duration {
	var u syscall.Rusage
	c.must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
