package browser

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
	"github.com/headrace/headrace/ui/who"
)

// hostile is what a sender may put into a field. markup is what a program may name its build.
const (
	markup  = `"'><img src=x onerror=alert(1)><script>alert(2)</script></title>{{.}}${alert(3)}`
	hostile = markup + "\u202e\x1b[2J"
)

// innocent says that a page is what its template says: no element, handler or address came from a field.
const innocent = `[...document.querySelectorAll("img,iframe,object,embed,base,meta[http-equiv=refresh]"),
	...[...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => /^(on|hx-on|style$)/.test(a.name))),
	...[...document.querySelectorAll("[href],[action]")].filter(e => !/^https?:$/.test(new URL(e.getAttribute("href") ?? e.getAttribute("action"), document.baseURI).protocol)),
	...[...document.scripts].filter(s => !s.src)].map(e => e.outerHTML.slice(0, 200))`

// Each page, in both themes, is accessible, keeps to the policy, fits a phone, and shows what others wrote as text.
func TestPages(t *testing.T) {
	t.Parallel()
	name := `<img/src=x/onerror=alert(4)>`
	n := newNight(t, tokens(t, who.Person{Name: name, Role: who.Admin}))
	n.run(markup, func(o paid) error {
		if o.Total < 0 {
			return retry.Permanent(errors.New(hostile))
		}
		return nil
	})
	for i := range 3 {
		n.deliver(fmt.Sprint(hostile, i), -1, map[string]string{"x-hostile": hostile, hostile: "x", "Authorization": "Bearer header-canary"})
	}
	n.fires()
	b := open(t, bearing(tokenOf(name)))
	n.stop()
	b.look(n, n.group)
	b.says("No process of billing runs")
	n.run(markup+"2", func(o paid) error { return nil })
	b.goTo(n.pages + n.group)
	b.says(`<script>alert(2)</script>`)
	b.rehearse()
	b.click(planIt)
	b.wait(reason)
	n.steps()
	for _, path := range []string{
		"/", n.group, n.group + "/shared", "/l/1", "/r/1", "/q/1", "/search?text=%22%3E%3Cimg+src%3Dx%3E", "/redrives", "/consumers", "/backlog", "/outbox",
		"/inbox?key=%3Cimg+src%3Dx%3E", "/audit", "/steps", "/steps?key=" + url.QueryEscape(hostile+"0"), "/steps?state=skipped", "/steps?system=bank&id=nosuch", "/find?q=%3Cimg+src%3Dx%3E", "/l/99",
	} {
		b.look(n, path)
	}
	n.effect(`DELETE FROM headrace_steps`) // a redrive skips those that need a person
	b.goTo(n.pages + "/r/1")
	b.write(reason, hostile[:60])
	b.click(applyIt)
	b.wait(done)
	n.resolved()
	for _, path := range []string{"/r/1", n.group} {
		b.look(n, path)
	}
	n.once()
}

// steps gives each letter steps that say what is hostile, and pauses a system.
func (n *night) steps() {
	n.Helper()
	err := store.Transact(n.Context(), n.st, func(t *txn.Txn) error {
		_, err := t.ExecContext(n.Context(), `INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, external_id, other_id, error, reason, result, last_call_at, first_call_at, changed_at)
			SELECT l.scope, l.key, s.value || $1, $1, s.value, 'c', '', $1, $1, $1, $1, $2, l.changed_at, l.changed_at, l.changed_at FROM headrace_dead_letters AS l, json_each('["parked", "skipped", "done"]') AS s`,
			hostile, []byte(`{"password":"result-canary"}`))
		return err
	})
	if err == nil {
		_, err = n.st.Operations().Systems.Pause(n.Context(), ledger.SystemPause{System: "<img/src=x>", Left: time.Hour, By: hostile, Reason: hostile})
	}
	if err != nil {
		n.Fatal(err)
	}
}

// look looks at a page in all the ways in which a page can be wrong.
func (b *tab) look(n *night, path string) {
	b.Helper()
	status := b.goTo(n.pages + path)
	if status != http.StatusOK && status != http.StatusNotFound {
		b.Errorf("%s: %d", path, status)
	}
	b.asAllOthers(path)
}

// asAllOthers looks at the page that is open.
func (b *tab) asAllOthers(path string) {
	b.Helper()
	if guilty := run[[]string](b, innocent); len(guilty) > 0 {
		b.Errorf("%s: not from a template: %q", path, guilty)
	}
	if run[bool](b, `/(header|email|result)-canary/.test(document.documentElement.outerHTML)`) {
		b.Errorf("%s shows a secret", path)
	}
	b.accessible(path)
	b.do(narrow(420))
	if wide := run[int](b, `document.documentElement.scrollWidth`); wide > 420 {
		b.Errorf("%s: %d pixels wide on a phone of 420", path, wide)
	}
	b.do(narrow(1200))
	if wide := run[int](b, longName); wide > 1200 {
		b.Errorf("%s: with a long name the header is %d pixels wide of 1200", path, wide)
	}
	if cut := run[int](b, roleCut); cut > 0 {
		b.Errorf("%s: with a long name %d pixels of the role are cut", path, cut)
	}
	for _, fault := range b.seen() {
		b.Errorf("%s: %s", path, fault)
	}
}

// longName is how wide the header is where the database has a long name, as its address.
const longName = `(document.querySelector(".db").textContent = "postgres://postgres@127.0.0.1:5432/orders?sslmode=disable", document.querySelector("header.top").scrollWidth)`

// roleCut is how much of the role in the header is not seen.
const roleCut = `(() => { const role = document.querySelector(".who b"); if (!role) return 0;
	const seen = role.parentNode.getBoundingClientRect();
	return Math.ceil(Math.max(0, role.getBoundingClientRect().right - Math.min(seen.right, innerWidth), role.getBoundingClientRect().width - role.parentNode.clientWidth)) })()`

// narrow makes the window so many pixels wide.
func narrow(pixels int64) chromedp.Action[chromedp.Void] {
	return call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: pixels, Height: 900, DeviceScaleFactor: 1})
}
