package ui_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/who"
)

// fixture is a database, and a browser without JavaScript in front of its pages.
type fixture struct {
	*testing.T
	st store.Store
	// me is who looks at the pages. logged is what they logged.
	me     who.Person
	logged *strings.Builder
	pages  http.Handler
	// body and status are those of the last answer, at is its path and header its header.
	body, at string
	status   int
	header   http.Header
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "headrace.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return on(t, st, ui.Options{})
}

// onEachStore runs f with a database of each kind, and another store on the same.
func onEachStore(t *testing.T, f func(f *fixture, other store.Store)) {
	t.Run("sqlite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "headrace.db")
		both := [2]store.Store{}
		for i := range both {
			st, err := sqlite.Open(t.Context(), file, sqlite.Options{Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			both[i] = st
		}
		f(on(t, both[0], ui.Options{}), both[1])
	})
	t.Run("postgres", func(t *testing.T) {
		dsn, schema := pgstore.New(t)
		both := [2]store.Store{}
		for i := range both {
			st, err := postgres.New(t.Context(), pgtest.OpenDB(t, pgstore.Driver(t), dsn), postgres.Options{Schema: schema})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			both[i] = st
		}
		f(on(t, both[0], ui.Options{}), both[1])
	})
}

func on(t *testing.T, st store.Store, o ui.Options) *fixture {
	t.Helper()
	f := &fixture{T: t, st: st, me: who.Person{Name: "ann", Role: who.Operator}, logged: new(strings.Builder)}
	if o.Identify == nil {
		o.Identify = func(*http.Request) (who.Person, error) { return f.me, nil }
	}
	o.Log = slog.New(slog.NewTextHandler(f.logged, nil))
	f.pages = ui.New(st, o)
	t.Cleanup(func() {
		if f.logged.Len() > 0 {
			t.Errorf("the pages logged: %s", f.logged)
		}
		report, err := st.(store.Checker).Check(context.Background())
		for _, rule := range report.Rules {
			if rule.Violations > 0 {
				t.Errorf("Check: %+v", rule)
			}
		}
		if err != nil || len(report.Rules) == 0 {
			t.Error(err, report)
		}
	})
	return f
}

// send sends a request as a browser on the same site does, and follows where it leads.
func (f *fixture) send(method, path string, form url.Values, change ...func(*http.Request)) {
	f.Helper()
	for range 5 {
		f.sendOnce(method, path, form, change...)
		next := f.header.Get("Location")
		if f.status != http.StatusSeeOther || next == "" {
			return
		}
		method, path, form = "GET", next, nil
	}
	f.Fatalf("%s leads on and on", path)
}

func (f *fixture) sendOnce(method, path string, form url.Values, change ...func(*http.Request)) {
	f.Helper()
	r := httptest.NewRequest(method, "http://localhost:8090"+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	f.pages.ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Result().Body)
	f.body, f.status, f.header, f.at = string(body), w.Code, w.Header(), path
}

func (f *fixture) get(path string) {
	f.Helper()
	f.send("GET", path, nil)
}

// wants fails unless the last answer has the status and each of the texts.
func (f *fixture) wants(status int, texts ...string) {
	f.Helper()
	if f.status != status {
		f.Fatalf("%s: status %d, want %d\n%s", f.at, f.status, status, f.text())
	}
	for _, text := range texts {
		if !strings.Contains(f.text(), text) {
			f.Errorf("%s has no %q:\n%s", f.at, text, f.text())
		}
	}
}

var (
	tag    = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
	input  = regexp.MustCompile(`<(?:input|option)[^>]*>`)
	pair   = regexp.MustCompile(`([a-z]+)="([^"]*)"`)
)

// text is what a person reads.
func (f *fixture) text() string {
	return strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&", "&ensp;", " ").Replace(spaces.ReplaceAllString(tag.ReplaceAllString(f.body, " "), " "))
}

// form returns the hidden fields of the form of the last answer whose path ends with suffix.
func (f *fixture) form(suffix string) (action string, fields url.Values) {
	f.Helper()
	for _, form := range strings.Split(f.body, "<form")[1:] {
		form, _, _ = strings.Cut(form, "</form>")
		head, rest, _ := strings.Cut(form, ">")
		attributes := pairs(head)
		if path, _, _ := strings.Cut(attributes["action"], "?"); !strings.HasSuffix(path, suffix) {
			continue
		}
		fields = make(url.Values)
		for _, one := range input.FindAllString(rest, -1) {
			if a := pairs(one); a["type"] == "hidden" {
				fields.Set(a["name"], a["value"])
			}
		}
		return attributes["action"], fields
	}
	f.Fatalf("%s has no form %q:\n%s", f.at, suffix, f.text())
	return "", nil
}

func pairs(s string) map[string]string {
	all := make(map[string]string)
	for _, p := range pair.FindAllStringSubmatch(s, -1) {
		all[p[1]] = strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&", "&#43;", "+").Replace(p[2])
	}
	return all
}

// click sends the form whose action ends with suffix, with more fields.
func (f *fixture) click(suffix string, more ...string) {
	f.Helper()
	action, fields := f.form(suffix)
	for i := 0; i+1 < len(more); i += 2 {
		fields.Set(more[i], more[i+1])
	}
	f.send("POST", action, fields)
}

type paid struct {
	ID    string `json:"id"`
	Total int    `json:"total"`
}

// run runs the consumer billing with a build, until stop.
func (f *fixture) run(build string, handle func(paid) error) (source *memsource.Source, stop func()) {
	f.Helper()
	source = memsource.New()
	c, err := consumer.New("billing", f.st, consumer.Config{Build: build, Source: source, Rehearsable: true})
	if err != nil {
		f.Fatal(err)
	}
	consumer.Handle(c, "orders.paid", func(_ context.Context, _ *headrace.Tx, m *headrace.Message[paid]) error { return handle(m.Body) })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	f.eventually("the process is known", func() bool {
		list, err := f.st.Operations().Instances.List(f.Context(), "billing")
		return err == nil && len(list) > 0 && list[0].Build == build && list[0].Ended.IsZero()
	})
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.Error(err)
		}
	})
	f.Cleanup(stop)
	return source, stop
}

// fail makes n letters of one cause, by the build v1.8.0, which then ends.
func (f *fixture) fail(n int) {
	f.Helper()
	source, stop := f.run("v1.8.0", func(paid) error { return retry.Permanent(errors.New("the total is negative")) })
	for i := range n {
		m := source.Deliver("orders.paid", fmt.Sprint("order-", i), fmt.Appendf(nil, `{"id":"order-%d","total":-1,"email":"ann@example.com"}`, i), map[string]string{"authorization": "secret-canary"})
		if acked, err := memsource.Outcome(f.Context(), m); err != nil || !acked {
			f.Fatal(acked, err)
		}
	}
	stop()
}

// eventually waits until ok.
func (f *fixture) eventually(what string, ok func() bool) {
	f.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			f.Fatalf("it never came: %s", what)
		}
	}
}

// letters are the open letters, newest first.
func (f *fixture) letters() []dlq.Letter {
	f.Helper()
	list, err := f.st.Letters().List(f.Context(), dlq.Filter{}, 0, 100)
	if err != nil {
		f.Fatal(err)
	}
	return list
}

// visible is what of a text may be a name.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, text)
}
