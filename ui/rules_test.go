package ui_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/who"
)

// Each route answers those who have its role, and no others.
func TestRoutesNeedTheirRole(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, r := range ui.Routes {
		path := strings.NewReplacer("{$}", "", "{fingerprint}", "00000000000000ff", "{id}", "999").Replace(r.Path)
		if r.Method == http.MethodPost && r.Needs < who.Operator {
			t.Errorf("%s may be done by a %s", r.Path, r.Needs)
		}
		for _, role := range []who.Role{0, who.Viewer, who.Operator, who.Admin} {
			f.me.Role = role
			f.sendOnce(r.Method, path, url.Values{})
			if may := role >= r.Needs; may == (f.status == http.StatusForbidden) {
				t.Errorf("%s %s as %s: %d", r.Method, path, role, f.status)
			}
			if f.status >= 500 {
				t.Errorf("%s %s: %d", r.Method, path, f.status)
			}
		}
	}
}

// Bytes that are no text are refused, and no error of the database.
func TestBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, bytes := range []string{"%00", "%ff%fe"} {
		for _, path := range []string{"/search?class=", "/search?state=", "/consumers?consumer=", "/outbox?outbox=", "/backlog?status="} {
			f.get(path + bytes)
			f.wants(http.StatusBadRequest)
		}
	}
	f.sendOnce(http.MethodPost, "/consumers/pause", url.Values{"consumer": {"\x00"}})
	f.wants(http.StatusBadRequest)
}

// Who is not known is refused, and without Identify each request is.
func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for want, o := range map[int]ui.Options{
		http.StatusUnauthorized: {Identify: func(*http.Request) (ui.Person, error) { return ui.Person{}, who.ErrUnknown }},
		http.StatusForbidden:    {Identify: func(*http.Request) (ui.Person, error) { return ui.Person{}, errors.New("expired") }},
	} {
		f.pages = ui.New(f.st, o)
		f.get("/")
		f.wants(want)
	}
	f.pages = ui.New(f.st, ui.Options{})
	for _, path := range []string{"/", "/assets/headrace.css", "/nowhere"} {
		f.get(path)
		f.wants(http.StatusForbidden)
	}
}

// Whom the audit cannot name, or who has a role that is none, may do nothing, and the log says that Identify is wrong.
func TestPeopleThatCannotBeNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, p := range []who.Person{{Role: who.Admin}, {Name: "x\x00y", Role: who.Admin}, {Name: "x\xff", Role: who.Admin}, {Name: strings.Repeat("x", 5000), Role: who.Admin}, {Name: "ann", Role: 99}, {Name: "ann", Role: -1}} {
		f.me = p
		for _, path := range []string{"/", "/audit"} {
			f.get(path)
			f.wants(http.StatusForbidden, "You may not look at this.")
		}
		if log := f.logged.String(); !strings.Contains(log, "Identify returned the ") || len(log) > 1000 {
			t.Errorf("%.20q: the log says %s", p.Name, log)
		}
		f.logged.Reset()
	}
	if who.Role(99).May(who.Viewer) {
		t.Error("a role that is none may look")
	}
}

// Other sites cannot act, other names of the host are not served, and every answer says what a
// browser may do with it.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	crossSite := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	otherOrigin := func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "https://evil.example") }
	otherHost := func(r *http.Request) { r.Host = "evil.example" }
	for _, r := range ui.Routes {
		path := strings.NewReplacer("{$}", "", "{fingerprint}", "00000000000000ff", "{id}", "1").Replace(r.Path)
		f.sendOnce(r.Method, path, url.Values{}, otherHost)
		f.wants(http.StatusMisdirectedRequest)
		if r.Method == http.MethodPost {
			for _, change := range []func(*http.Request){crossSite, otherOrigin} {
				f.sendOnce(r.Method, path, url.Values{}, change)
				f.wants(http.StatusForbidden)
			}
		}
	}
	for host, want := range map[string]int{"127.0.0.1:8090": 200, "[::1]:8090": 200, "LOCALHOST": 200, "evil.example": 421, "localhost.evil.example:8090": 421, "": 421} {
		f.send("GET", "/", nil, func(r *http.Request) { r.Host = host })
		f.wants(want)
	}
	for _, path := range []string{"/", "/assets/headrace.js", "/l/x", "/nowhere", "/assets/../ui.go"} {
		f.get(path)
		if csp := f.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self'") || f.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, f.header)
		}
	}
	for _, method := range []string{"PUT", "DELETE", "TRACE", "OPTIONS"} {
		f.send(method, "/", nil)
		f.wants(http.StatusMethodNotAllowed)
	}
}

// The pages below another path link to nothing outside of it.
func TestPagesBelowAPath(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.pages = ui.New(f.st, ui.Options{Path: "/headrace/", Identify: func(*http.Request) (ui.Person, error) { return f.me, nil }})
	f.get("/headrace/")
	f.wants(http.StatusOK, "Overview")
	for _, link := range regexp.MustCompile(`(?:href|src|action|hx-get)="([^"]*)"`).FindAllStringSubmatch(f.body, -1) {
		if !strings.HasPrefix(link[1], "/headrace/") && link[1] != "#main" {
			t.Errorf("a link to %s", link[1])
		}
	}
	f.get("/headrace/assets/htmx.min.js")
	f.wants(http.StatusOK)
	f.get("/")
	f.wants(http.StatusNotFound)
}

// What htmx reads is ours alone: routes of constant words and numbers. Nothing else in a template
// runs, or is a style. Each form says what the person saw.
func TestTemplatesHoldNoData(t *testing.T) {
	t.Parallel()
	routeOnly := regexp.MustCompile(`^(every [0-9]+s|outerHTML|\{\{at( "[a-z]+"| \.ID)*\}\})$`)
	forbidden := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|hx-on|hx-vals|hx-headers|javascript:|<script>|template\.HTML`)
	err := fs.WalkDir(os.DirFS("templates"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join("templates", path))
		for _, value := range attributeValues(string(text)) {
			if !routeOnly.MatchString(value) {
				t.Errorf("%s: htmx reads %q", path, value)
			}
		}
		for _, form := range strings.Split(string(text), `method="post"`)[1:] {
			if form, _, _ = strings.Cut(form, "</form>"); !strings.Contains(form, `{{template "seen" `) {
				t.Errorf("%s: a form does not say what the person saw: %s", path, form)
			}
		}
		if bad := forbidden.FindString(string(text)); bad != "" {
			t.Errorf("%s holds %q", path, bad)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// attributeValues are the values of hx attributes of a template, whose actions may hold quotes.
func attributeValues(text string) (values []string) {
	for _, rest := range regexp.MustCompile(`hx-[a-z-]*="`).Split(text, -1)[1:] {
		end, inside := 0, false
		for ; rest[end] != '"' || inside; end++ {
			switch {
			case strings.HasPrefix(rest[end:], "{{"):
				inside = true
			case strings.HasPrefix(rest[end:], "}}"):
				inside = false
			}
		}
		values = append(values, rest[:end])
	}
	return values
}

// A GET changes nothing.
func TestGetChangesNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "headrace.db")
	st, err := sqlite.Open(t.Context(), file, sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	f := on(t, st, ui.Options{})
	f.fail(2)
	before := fileSums(t, file)
	for _, r := range ui.Routes {
		if r.Method != http.MethodGet {
			continue
		}
		path := strings.NewReplacer("{$}", "", "{fingerprint}", f.letters()[0].ErrorFingerprint, "{id}", "1").Replace(r.Path)
		for _, query := range []string{"", "?key=order-1&q=order-1&text=negative&seen=x&reason=x"} {
			f.get(path + query)
			if f.status >= 500 {
				t.Errorf("%s: %d", path, f.status)
			}
		}
	}
	if after := fileSums(t, file); !slices.Equal(before, after) {
		t.Error("a GET has written")
	}
}

// fileSums are the hashes of the files of a database.
func fileSums(t *testing.T, file string) (sums []string) {
	t.Helper()
	for _, name := range []string{file, file + "-wal"} {
		b, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		sums = append(sums, string(sum[:]))
	}
	return sums
}

// What a form says that the person saw must be so: a stale page gets 409. So does a second click, but for
// what a process was asked: that leads where the first one led.
func TestStaleForms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail(2)
	_, stop := f.run("v1.8.1", func(paid) error { return nil })
	defer stop()
	f.counted()
	group := "/g/" + f.letters()[0].ErrorFingerprint
	for _, action := range []struct {
		suffix string
		more   []string
		again  int
	}{{"/note", []string{"assignee", "ann"}, 409}, {"/mute", []string{"for", "1h"}, 409}, {"/plan", nil, 200}, {"/resolve", nil, 409}} {
		f.get(group)
		path, fields := f.form(action.suffix)
		for i := 0; i+1 < len(action.more); i += 2 {
			fields.Set(action.more[i], action.more[i+1])
		}
		f.send("POST", path, fields)
		f.wants(http.StatusOK)
		f.send("POST", path, fields) // a second click
		f.wants(action.again)
		fields.Set("form", "another tab")
		f.send("POST", path, fields)
		f.wants(http.StatusConflict, "nothing was done", "the total is negative")
	}
	f.get("/r/1")
	path, fields := f.form("/cancel")
	fields.Set("reason", "it was a test")
	f.send("POST", path, fields)
	f.wants(http.StatusOK, "cancelled")
	f.send("POST", path, fields)
	f.wants(http.StatusOK, "cancelled")
	fields.Set("reason", "another one")
	f.send("POST", path, fields)
	f.wants(http.StatusConflict, "nothing was done")
	fields.Del("seen")
	f.send("POST", path, fields)
	f.wants(http.StatusConflict)
}

// Clicks at the same moment make one plan, and lead to it, also where each goes to another server.
//
//evidence:path
func TestClicksAtOnceMakeOnePlan(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture, other store.Store) {
		f.fail(2)
		_, stop := f.run("v1.8.1", func(paid) error { return nil })
		defer stop()
		f.counted()
		second := on(f.T, other, ui.Options{})
		for _, page := range []string{"/g/" + f.letters()[0].ErrorFingerprint, "/l/1"} {
			f.get(page)
			path, fields := f.form("/plan")
			var clicks sync.WaitGroup
			led := make(chan string, 6)
			click := func(f fixture) {
				f.sendOnce("POST", path, fields)
				led <- fmt.Sprint(f.status, " ", f.header.Get("Location"))
			}
			for range cap(led)/2 - 1 {
				clicks.Go(func() { click(*f) })
				clicks.Go(func() { click(*second) })
			}
			clicks.Wait()
			click(*second) // a late one
			fields.Set("seen", "x")
			click(*f)
			close(led)
			first := f.planned(<-led)
			for i := 1; len(led) > 1; i++ {
				if next := f.planned(<-led); next != first || !strings.HasPrefix(first, "303 /r/") {
					f.Errorf("%s: click %d led to %s, the first one to %s", page, i, next, first)
				}
			}
			if changed := <-led; !strings.HasPrefix(changed, "409") {
				f.Errorf("%s: a form that says something else: %s", page, changed)
			}
		}
		if list, err := f.st.Operations().Redrives.List(f.Context(), "billing", 10); err != nil || len(list) != 2 {
			f.Errorf("%d plans: %v", len(list), err)
		}
	})
}

// planned follows where a click led: on a busy machine first to the page of the request.
func (f *fixture) planned(led string) string {
	f.Helper()
	page, isRequest := strings.CutPrefix(led, "303 /q/")
	if isRequest {
		f.eventually("the request is answered", func() bool {
			f.sendOnce("GET", "/q/"+page, nil)
			return f.status == http.StatusSeeOther
		})
		led = fmt.Sprint(f.status, " ", f.header.Get("Location"))
	}
	return led
}

// counted waits until the processes have counted the letters: then people may decide on the group.
func (f *fixture) counted() {
	f.Helper()
	f.eventually("the letters are counted", func() bool {
		_, waits, err := f.st.Operations().Groups.Behind(context.Background())
		return err == nil && !waits
	})
}
