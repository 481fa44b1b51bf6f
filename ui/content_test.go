package ui_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/storetest"
	"github.com/headrace/headrace/store/txn"
	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/view"
	"github.com/headrace/headrace/ui/who"
)

// Values of a message are hidden, until an operator reveals them: the audit says who.
func TestValuesAreHidden(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(1)
	const canary, header = "ann@example.com", "secret-canary"
	hidden := func() {
		t.Helper()
		f.wants(http.StatusOK, "hidden", "authorization")
		if strings.Contains(f.body, canary) || strings.Contains(f.body, header) {
			t.Error("a value is shown")
		}
	}
	f.get("/l/1")
	hidden()
	seen := func() url.Values { f.get("/l/1"); _, fields := f.form("/reveal"); return fields }
	f.send("POST", "/l/1/reveal", seen())
	f.wants(http.StatusOK, canary, header, "all values")
	f.send("POST", "/l/1/download", seen())
	if f.body != `{"id":"order-0","total":-1,"email":"ann@example.com"}` || f.header.Get("Content-Type") != "text/plain; charset=utf-8" ||
		!strings.HasPrefix(f.header.Get("Content-Disposition"), "attachment") || f.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%q %v", f.body, f.header)
	}
	f.write(letterOf("customer-7", "order-7"))
	for _, f.me.Role = range []who.Role{who.Viewer, who.Operator} {
		f.get("/l/2")
		f.wants(http.StatusOK, "Key order-7", "Order key customer-7") // for every role, as in the grants
	}
	rows, err := f.st.Operations().Audit.List(t.Context(), audit.Filter{Kind: audit.Letter, Subject: "1"}, 0, 10)
	if err != nil || len(rows) != 2 || rows[0].Action != "download" || rows[1].Action != "reveal" || rows[1].By != "ann" {
		t.Errorf("%+v, %v", rows, err)
	}

	redacting := ui.Options{
		Identify: func(*http.Request) (ui.Person, error) { return f.me, nil },
		Redact: func(c ui.Content) ui.Content {
			c.Payload = bytes.ReplaceAll(c.Payload, []byte(canary), []byte("****"))
			c.Headers["authorization"], c.Hidden = "", []string{"*.email"}
			return c
		},
	}
	f.pages = ui.New(f.st, redacting)
	f.get("/l/1")
	f.wants(http.StatusOK, `"****"`, "blank: *.email", "order-0")
	f.me.Role = who.Viewer
	f.get("/l/1")
	hidden()
	if strings.Contains(f.body, "order-0\"") || strings.Contains(f.body, "****") {
		t.Error("a viewer sees values")
	}
}

// evil tries something wherever text from outside can stand.
const evil = `x"><img src=x onerror=alert(1)><script>alert(1)</script>'` + "`{{7*7}} javascript:alert(1) \x1b[2J\u009b1m\u202eevil\u2066 ../../apply?a=b&c=%00"

// write writes letters with what f leaves on them.
func (f *fixture) write(letters ...dlq.Letter) {
	f.Helper()
	err := store.Transact(f.Context(), f.st, func(t *txn.Txn) error {
		for _, l := range letters {
			entry := inbox.Entry{ID: l.ID(), State: inbox.Dead, Fingerprint: l.Delivery.Fingerprint}
			if err := storetest.Enter(f.Context(), f.st.Inbox(), t, entry); err != nil {
				return err
			}
			a := inbox.Attempt{ID: l.ID(), Class: "transient", Error: l.Error, ErrorType: l.Error, Host: l.Host, Build: l.Build}
			if _, err := f.st.Inbox().AddAttempts(f.Context(), t, []inbox.Attempt{a}); err != nil {
				return err
			}
		}
		_, err := f.st.Letters().Insert(f.Context(), t, letters)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
}

func letterOf(text, key string) dlq.Letter {
	return dlq.Letter{
		Class: dlq.Permanent, Consumer: "billing", Handler: text, Strict: true, Attempts: 1,
		Delivery: headrace.Delivery{
			Scope: "billing/" + text, Key: key, OrderKey: text, Fingerprint: text, ID: text, Topic: text,
			Payload: []byte(text), Metadata: map[string]string{text: text},
			Coordinates: headrace.Coordinates{Broker: text, Topic: text}, Trace: headrace.TraceContext{Parent: "00-" + text + "-01-01"},
		},
		Error: text, Chain: []string{text}, Stack: text, ErrorFingerprint: "00000000000000ff", Host: text, Build: text, Environment: text,
	}
}

// Text from messages, errors and people stays text, on every page.
func TestHostileText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.me.Name = visible(evil)
	f.write(letterOf(evil, evil))
	hostile := ledger.Row{
		ID: inbox.ID{Scope: "billing/" + evil, Key: evil}, Step: evil, System: evil, State: ledger.Parked, ExternalID: evil, OtherID: evil, Error: evil, Reason: evil, Result: []byte(evil),
	}
	f.steps(hostile)
	ops := f.st.Operations()
	for _, err := range []error{
		ops.Instances.Start(t.Context(), instance.Instance{ID: "i", Consumer: "billing", Host: evil, Build: evil, Environment: evil, Handlers: []string{evil}}),
		second(ops.Pauses.Pause(t.Context(), instance.Pause{Consumer: "billing", By: evil, Reason: evil})),
		second(ops.Systems.Pause(t.Context(), ledger.SystemPause{System: strings.ReplaceAll(strings.ReplaceAll(evil, "\x1b", ""), "\u009b", ""), Left: time.Hour, By: evil, Reason: evil})),
		second(ops.Conditions.Put(t.Context(), "", "", condition.Change{Conditions: []condition.Condition{{State: condition.Firing, Alert: alerts.Alert{
			Since: time.Now(), At: time.Now(), Phase: alerts.Firing,
			Key: strings.Repeat("a", 64), Kind: alerts.GroupFailing, Severity: alerts.Error, Consumer: "billing", Handler: evil, Title: evil, Command: evil, ErrorFingerprint: "00000000000000ff",
		}}}})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f.pages = ui.New(f.st, ui.Options{
		Identify: func(*http.Request) (ui.Person, error) { return f.me, nil }, Name: evil,
		TraceURL: "https://tempo.example/{trace}", RunbookURL: "https://wiki.example/{consumer}/{handler}",
	})
	f.get("/l/1")
	_, reveal := f.form("/reveal")
	for _, page := range []string{
		"/", "/g/00000000000000ff", "/g/00000000000000ff/shared", "/l/1", "/search?text=" + url.QueryEscape(evil) + "&state=any", "/search?where=" + url.QueryEscape("$.a"), "/search?key=" + url.QueryEscape(evil),
		"/consumers", "/inbox?key=" + url.QueryEscape(evil), "/backlog?consumer=" + url.QueryEscape(evil), "/audit?kind=letter&subject=" + url.QueryEscape(evil), "/outbox?outbox=x", "/find?q=" + url.QueryEscape(evil), "/redrives",
		"/steps", "/steps?state=doubled", "/steps?key=" + url.QueryEscape(evil), "/steps?system=" + url.QueryEscape(evil) + "&id=" + url.QueryEscape(evil),
	} {
		f.get(page)
		f.wants(http.StatusOK)
		f.harmless()
	}
	f.send("POST", "/l/1/reveal", reveal)
	f.wants(http.StatusOK)
	f.harmless()
	f.get("/steps?key=" + url.QueryEscape(evil))
	f.click("/reveal")
	f.wants(http.StatusOK)
	f.harmless()
	for _, wrong := range []string{"/l/0", "/l/-1", "/l/9223372036854775808", "/l/..%2f1", "/g/zz", "/g/00000000000000fg", "/r/1%00", "/q/99", "/search?since=tomorrow", "/search?where=%24%5B", "/audit?cursor=-1", "/backlog?cursor=x"} {
		f.get(wrong)
		if f.status < 400 || f.status > 404 {
			t.Errorf("%s: %d", wrong, f.status)
		}
		f.harmless()
	}
}

// No payload breaks a page: not by what it is, and not by what it says.
func TestBadPayloads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	see := func(c ui.Content) ui.Content { return c }
	f.pages = ui.New(f.st, ui.Options{Identify: func(*http.Request) (ui.Person, error) { return f.me, nil }, Redact: see})
	for i, payload := range []string{
		"", "\x00", "\xff", `"\u0000"`, `{"a":"\ud800"}`, `{"a":1,"a":2}`, `{"n":1e400,"m":12345678901234567890}`, strings.Repeat("[", 100_000), strings.Repeat("x", 10<<20),
		"\ufeff{}", `{} trailing`, `{"__proto__":{"x":1}}`, `<script>alert(1)</script>`, `{"a":"{{7*7}}","b":"javascript:alert(1)","<img src=x>":"${1}"}`, "\x1b[2J\r\nx", "=cmd|' /C calc'!A0", "\x1f\x8b\x08truncated",
	} {
		l := letterOf("orders.paid", fmt.Sprint("key-", i))
		l.Delivery.Payload = []byte(payload)
		f.write(l)
	}
	for _, l := range f.letters() {
		f.get(fmt.Sprint("/l/", l.LetterID))
		f.wants(http.StatusOK)
		f.harmless()
	}
	f.get("/g/00000000000000ff/shared")
	f.wants(http.StatusOK)
	f.harmless()
}

func second[A any](_ A, err error) error { return err }

var (
	hostileTag  = regexp.MustCompile(`(?i)<img|<script>|<script [^s]|onerror=alert\(1\)>|href="\s*javascript:`)
	hostileRune = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)
	hxAttribute = regexp.MustCompile(`hx-[a-z]+="([^"]*)"`)
	hxValue     = regexp.MustCompile(`^(every \d+s|outerHTML|/[a-z0-9/]*)$`)
)

// harmless fails if text of the last answer could act.
func (f *fixture) harmless() {
	f.Helper()
	for _, bad := range []*regexp.Regexp{hostileTag, hostileRune} {
		if found := bad.FindStringIndex(f.body); found != nil {
			f.Errorf("%s holds %q", f.at, f.body[max(0, found[0]-40):min(len(f.body), found[1]+40)])
		}
	}
	for _, one := range hxAttribute.FindAllStringSubmatch(f.body, -1) {
		if !hxValue.MatchString(one[1]) {
			f.Errorf("%s: htmx reads %q", f.at, one[1])
		}
	}
}

// A large payload is cut on the page, and whole as a file.
func TestLargePayload(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	large := letterOf("orders", "large")
	large.Delivery.Payload = bytes.Repeat([]byte("ü"), 100_000)
	f.write(large)
	f.get("/l/1")
	_, fields := f.form("/reveal")
	f.send("POST", "/l/1/reveal", fields)
	f.wants(http.StatusOK, "134,464 more bytes are not shown")
	if n := strings.Count(f.body, "ü"); n != view.MaxPayload/2 {
		t.Errorf("%d characters", n)
	}
	f.send("POST", "/l/1/download", fields)
	if len(f.body) != 200_000 {
		t.Errorf("%d bytes", len(f.body))
	}
}

// Where no process runs, nothing is done, and the page says so beside the present state.
func TestNoProcess(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(1)
	group := "/g/" + f.letters()[0].ErrorFingerprint
	off := regexp.MustCompile(`<button[^>]* disabled data-off aria-describedby="idle">`)
	for path, buttons := range map[string]int{group: 3, "/l/1": 3} {
		f.get(path)
		f.wants(http.StatusOK, "No process of billing runs", "headrace dlq rehearse")
		if n := len(off.FindAllString(f.body, -1)); n != buttons || !strings.Contains(f.body, `id="idle"`) {
			t.Errorf("%s: %d buttons are disabled, want %d", path, n, buttons)
		}
	}
	for _, action := range []string{"/rehearse", "/plan", "/discard"} {
		f.get(group)
		f.click(action)
		f.wants(http.StatusServiceUnavailable, "no process of billing", "Nothing was done", "1 open letter")
	}
	f.send("POST", group+"/plan", url.Values{"seen": {strings.Repeat("x", 401<<10)}})
	f.wants(http.StatusBadRequest)

	_, stop := f.run("v1.8.1", func(paid) error { return nil })
	f.counted()
	f.get(group)
	f.click("/plan")
	for _, path := range []string{group, "/l/1", "/r/1"} {
		f.get(path)
		if f.wants(http.StatusOK); off.MatchString(f.body) || strings.Contains(f.body, `id="idle"`) {
			t.Errorf("%s: a process runs", path)
		}
	}
	stop()
	f.get("/r/1")
	if f.wants(http.StatusOK, "No process of billing runs", "headrace redrive apply R-1"); len(off.FindAllString(f.body, -1)) != 1 {
		t.Error("it can be applied")
	}
}

// A plan is applied once, a rehearsal that fails says why, and a discard asks for a reason.
func TestDecisions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(2)
	_, stop := f.run("v1.8.0", func(p paid) error { return errors.New("still negative") })
	defer stop()
	group := "/g/" + f.letters()[0].ErrorFingerprint
	f.get(group)
	f.click("/rehearse")
	f.wants(http.StatusOK, "0 of 2 rehearsed letters would pass", "still negative")
	f.get("/l/2")
	f.click("/discard")
	f.wants(http.StatusOK, "Discard 1 letter?")
	f.click("/apply", "reason", " ")
	f.wants(http.StatusBadRequest, "Say why")
	f.get("/r/1")
	path, fields := f.form("/apply")
	fields.Set("reason", "a test order")
	f.send("POST", path, fields)
	f.wants(http.StatusOK, "Discard of 1 letter")
	f.send("POST", path, fields)
	f.wants(http.StatusOK, "Discard of 1 letter")
	f.eventually("the letter is discarded", func() bool { f.get("/l/2"); return strings.Contains(f.text(), "discarded") })
	f.get("/audit?kind=redrive&subject=1")
	f.wants(http.StatusOK, "apply", "ann", "a test order")
	f.send("GET", "/r/1", nil, func(r *http.Request) { r.Header.Set("HX-Request", "true") })
	if strings.Contains(f.body, "<html") || !strings.HasPrefix(f.body, `<div id="live"`) {
		t.Error("htmx gets more than the part that is alive:", f.body)
	}
}

const traceID = "5bd1e0f7c4a94d6f8a3b2c1d0e9f8a7b"

// A viewer does not find out by searching what messages say.
func TestViewersSearchNoValues(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(1)
	for query, want := range map[string]int{"text=order-0": 403, "where=%24.total+%3C+0": 403, "text=" + traceID: 200, "since=7d": 200, "since=7x": 400} {
		f.me.Role = who.Viewer
		f.get("/search?" + query)
		f.wants(want)
		f.me.Role = who.Operator
		f.get("/search?" + query)
		f.wants(max(200, want%403))
	}
}

// Find leads to what is meant.
func TestFind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(1)
	print := f.letters()[0].ErrorFingerprint
	for what, want := range map[string]string{
		"R-7": "/r/7", "1": "/l/1", print: "/g/" + print, print[:5]: "/g/" + print[:5], "order-0": "/inbox?key=order-0", "../x y": "/inbox?key=..%2Fx+y", "": "/search",
		traceID: "/search?state=any&text=" + traceID,
	} {
		f.sendOnce("GET", "/find?q="+url.QueryEscape(what), nil)
		if got := f.header.Get("Location"); got != want {
			t.Errorf("%q leads to %q", what, got)
		}
	}
}

// The path holds on PostgreSQL, too.
//
//evidence:path
func TestPathByClicksOnPostgres(t *testing.T) {
	dsn, schema := pgstore.New(t)
	st, err := postgres.Open(context.Background(), dsn, postgres.Options{Schema: schema, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	f := on(t, st, ui.Options{CommandEnd: " --schema " + schema})
	f.fail(3)
	_, stop := f.run("v1.8.1", func(paid) error { return nil })
	defer stop()
	f.path()
	f.get("/")
	f.wants(http.StatusOK, fmt.Sprint("headrace status --schema ", schema))
}

// What letters share is told with values to operators, redacted, and without them to viewers.
func TestWhatLettersShare(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(4)
	path := "/g/" + f.letters()[0].ErrorFingerprint
	redact := func(c ui.Content) ui.Content {
		c.Payload = bytes.ReplaceAll(c.Payload, []byte("ann@example.com"), []byte("[redacted]"))
		return ui.Content{Payload: c.Payload, Headers: map[string]string{"authorization": "[redacted]"}}
	}
	f.pages = ui.New(f.st, ui.Options{Identify: func(*http.Request) (ui.Person, error) { return f.me, nil }, Redact: redact})
	f.get(path)
	if !strings.Contains(f.body, path+"/shared?") {
		t.Error("the group has no link to what its letters share")
	}
	f.get(path + "/shared")
	f.wants(http.StatusOK, "$.total below 0", `$.email "[redacted]"`, "100 %", "--shared")
	if strings.Contains(f.body, "canary") || strings.Contains(f.body, "example.com") {
		t.Error("a secret is shown")
	}
	f.me.Role = who.Viewer
	f.get(path + "/shared")
	f.wants(http.StatusOK, "$.total", "$.email")
	if strings.Contains(f.body, "below 0") || strings.Contains(f.body, "redacted]") {
		t.Error("a viewer sees values:", f.text())
	}
}
