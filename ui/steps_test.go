package ui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
	"github.com/headrace/headrace/store/txn"
	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/who"
)

// steps writes rows as they are, changed two hours ago, on SQLite. Their messages are known already.
func (f *fixture) steps(rows ...ledger.Row) {
	f.Helper()
	f.tx(func(t *txn.Txn) error {
		for _, r := range rows {
			_, err := t.ExecContext(f.Context(), `INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, external_id, other_id, via, error, reason, result, last_call_at, first_call_at, changed_at)
				SELECT $1, $2, $3, $4, $5, 'c', '', $6, $7, $8, $9, $10, $11, at, at, at FROM (SELECT (unixepoch() - 7200) * 1000000 AS at)`,
				r.ID.Scope, r.ID.Key, r.Step, r.System, r.State, r.ExternalID, r.OtherID, r.Via, r.Error, r.Reason, r.Result)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *fixture) tx(do func(*txn.Txn) error) {
	f.Helper()
	if err := store.Transact(f.Context(), f.st, do); err != nil {
		f.Fatal(err)
	}
}

// message writes a message that waits.
func (f *fixture) message(id inbox.ID) {
	f.Helper()
	f.tx(func(t *txn.Txn) error {
		return storetest.Enter(f.Context(), f.st.Inbox(), t, inbox.Entry{ID: id, State: inbox.Done})
	})
}

const resultCanary = "result-canary"

// ledgered is a database with a step of each kind: those of order-1 are of a dead letter.
func ledgered(t *testing.T) *fixture {
	f := newFixture(t)
	f.write(letterOf("orders", "order-1"))
	dead, done := inbox.ID{Scope: "billing/orders", Key: "order-1"}, inbox.ID{Scope: "billing/orders", Key: "order-2"}
	f.message(done)
	f.steps(
		ledger.Row{ID: dead, Step: "invoice", System: "erp", State: ledger.Done, Via: ledger.ViaCall, ExternalID: "inv_1", Result: []byte(`{"number":"` + resultCanary + `"}`)},
		ledger.Row{ID: dead, Step: "payout", System: "bank", State: ledger.Parked, Error: "the outcome of a call is unknown"},
		ledger.Row{ID: dead, Step: "mail", System: "smtp", State: ledger.Pending},
		ledger.Row{ID: done, Step: "refund", System: "bank", State: ledger.Done, Via: ledger.ViaCall, ExternalID: "re_1", OtherID: "re_2"},
		ledger.Row{ID: done, Step: "sms", System: "sms", State: ledger.Skipped},
	)
	return f
}

// What waits for a person comes first, and each step has the command that decides on it.
func TestSteps(t *testing.T) {
	t.Parallel()
	f := ledgered(t)
	f.get("/steps")
	f.wants(http.StatusOK, "Need a person the oldest change first", "payout bank · billing/orders the outcome of a call is unknown parked order-1", "unknown for more than an hour", "mail", "No system was ever paused", "headrace steps ls", "headrace system ls")
	for _, no := range []string{"invoice", "sms", "Show more"} {
		if strings.Contains(f.text(), no) {
			t.Errorf("%q needs no person", no)
		}
	}
	f.get("/steps?key=order-1")
	f.wants(http.StatusOK, "invoice done at erp", "It made inv_1", "The message is dead letter 1 (permanent). Step payout: look for key", "headrace steps resolve billing/orders order-1 payout --done --external-id ID --reason WHY",
		"headrace steps resolve billing/orders order-1 payout --again --reason WHY", "A redrive goes on with it as the step declares", "headrace steps order-1", "as an admin")
	if !strings.Contains(f.body, `href="/l/1"`) {
		t.Error("no link to the letter")
	}
	f.get("/steps?key=order-2")
	f.wants(http.StatusOK, "And twice re_2", "headrace steps resolve billing/orders order-2 refund --done --reason WHY")
	f.get("/steps?system=bank&id=re_2")
	f.wants(http.StatusOK, "Found", "refund", "order-2", "headrace steps find bank re_2")
	for state, want := range map[string]string{"skipped": "sms", "doubled": "and twice: re_2", "pending": "mail", "awaiting": "None."} {
		f.get("/steps?state=" + state)
		f.wants(http.StatusOK, want, "headrace steps ls --state "+state)
	}
	f.get("/steps?key=nosuch")
	f.wants(http.StatusOK, "No step of a message with this key is recorded")
	f.get("/steps?system=bank&id=nosuch")
	f.wants(http.StatusOK, "None.")
	f.get("/steps?state=open")
	f.wants(http.StatusBadRequest, "parked, pending, skipped")
	f.get("/l/1")
	if f.wants(http.StatusOK, "Steps"); !strings.Contains(f.body, `href="/steps?key=order-1"`) {
		t.Error("the letter has no link to its steps")
	}
	f.get("/")
	if !strings.Contains(f.body, `href="/steps"`) {
		t.Error("the overview has no link to the steps")
	}
}

// A list shows so many steps, and more when asked, up to its bound.
func TestManySteps(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var rows []ledger.Row
	f.tx(func(t *txn.Txn) error {
		for i := range 120 {
			id := inbox.ID{Scope: "billing/orders", Key: fmt.Sprint("order-", i)}
			if err := storetest.Enter(f.Context(), f.st.Inbox(), t, inbox.Entry{ID: id, State: inbox.Done}); err != nil {
				return err
			}
			rows = append(rows, ledger.Row{ID: id, Step: "sms", System: "sms", State: ledger.Skipped})
		}
		return nil
	})
	f.steps(rows...)
	for path, want := range map[string]int{"/steps?state=skipped": 50, "/steps?state=skipped&cursor=50": 100, "/steps?state=skipped&cursor=100": 120, "/steps?state=skipped&cursor=9223372036854775807": 120} {
		f.get(path)
		f.wants(http.StatusOK)
		if n := strings.Count(f.body, "<code>order-"); n != want || strings.Contains(f.body, "Show more") != (want < 120) {
			t.Errorf("%s: %d steps", path, n)
		}
	}
}

// Results are hidden, until an operator reveals them: the audit says who.
func TestResultsAreHidden(t *testing.T) {
	t.Parallel()
	f := ledgered(t)
	redact := func(c ui.Content) ui.Content {
		return ui.Content{Payload: []byte(strings.ReplaceAll(string(c.Payload), resultCanary, "****")), Hidden: []string{"$.number"}}
	}
	redacting := ui.New(f.st, ui.Options{Identify: func(*http.Request) (ui.Person, error) { return f.me, nil }, Redact: redact})
	plain := f.pages
	for _, c := range []struct {
		role  who.Role
		pages http.Handler
		says  string
	}{{who.Viewer, plain, "bytes, hidden"}, {who.Viewer, redacting, "bytes, hidden"}, {who.Operator, plain, "bytes, hidden"}, {who.Operator, redacting, "blank: $.number"}} {
		f.me.Role, f.pages = c.role, c.pages
		for _, path := range []string{"/steps", "/steps?key=order-1", "/steps?system=erp&id=inv_1", "/l/1"} {
			f.get(path)
			f.wants(http.StatusOK)
			if strings.Contains(f.body, resultCanary) || c.role == who.Viewer && strings.Contains(f.body, "****") {
				t.Errorf("%s shows a result to a %s", path, c.role)
			}
			if strings.Contains(path, "key") {
				f.wants(http.StatusOK, c.says)
			}
		}
		if strings.Contains(f.body, "/steps/reveal") && c.role == who.Viewer {
			t.Error("a viewer may reveal")
		}
	}
	f.get("/steps?key=order-1")
	path, fields := f.form("/reveal")
	f.send("POST", path, fields)
	f.wants(http.StatusOK, resultCanary)
	rows, err := f.st.Operations().Audit.List(t.Context(), audit.Filter{Kind: audit.Message, Subject: "order-1"}, 0, 10)
	if err != nil || len(rows) != 1 || rows[0].Action != "reveal" || rows[0].By != "ann" {
		t.Errorf("%+v, %v", rows, err)
	}
	f.tx(func(tx *txn.Txn) error {
		_, err := tx.ExecContext(t.Context(), "UPDATE headrace_steps SET changed_at = changed_at + 1 WHERE step = 'payout'")
		return err
	})
	f.send("POST", path, fields)
	f.wants(http.StatusConflict, "nothing was done", "payout")
	if strings.Contains(f.body, resultCanary) {
		t.Error("a stale page reveals")
	}
	f.send("POST", path, url.Values{"key": {"nosuch"}})
	f.wants(http.StatusNotFound)
}

// A person pauses a system, and another one resumes it; a stale page changes nothing.
func TestPauseASystem(t *testing.T) {
	t.Parallel()
	f := ledgered(t)
	f.get("/steps")
	path, stale := f.form("/pause")
	for field, wrong := range map[string]string{"reason": " ", "for": "2000h", "name": "a\nb"} {
		form := url.Values{"seen": stale["seen"], "name": {"bank"}, "reason": {"it is down"}, "for": {"1h"}}
		form.Set(field, wrong)
		f.send("POST", path, form)
		f.wants(http.StatusBadRequest)
	}
	f.get("/steps")
	f.click("/pause", "name", "nosuch", "reason", "it is down", "for", "1h")
	f.wants(http.StatusConflict, "no step that is recorded calls this system")
	f.get("/steps")
	f.click("/pause", "name", "bank", "reason", "it is down", "for", "1h")
	f.wants(http.StatusOK, "bank paused in 59 min ann it is down now", "headrace system resume bank")
	if list, err := f.st.Operations().Systems.List(t.Context()); err != nil || len(list) != 1 || list[0].By != "ann" || list[0].Left < 50*time.Minute {
		t.Errorf("%+v, %v", list, err)
	}
	for name, value := range map[string]string{"name": "bank", "reason": "again", "for": "4h"} {
		stale.Set(name, value)
	}
	f.send("POST", path, stale)
	f.wants(http.StatusConflict, "nothing was done")
	f.me.Role = who.Viewer
	f.get("/steps")
	if f.wants(http.StatusOK, "bank paused"); strings.Contains(f.body, "<form class=\"form\"") || strings.Contains(f.body, "/systems/") {
		t.Error("a viewer has forms")
	}
	f.me = who.Person{Name: "bo", Role: who.Operator}
	f.get("/steps")
	f.click("/resume")
	f.wants(http.StatusOK, "bank open", "bo")
}
