package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// What the script of the pages does: keys, forms that close, a button that works once, a page that
// asks again by itself, but not while a person writes.
func TestScript(t *testing.T) {
	t.Parallel()
	n := newNight(t, tokens(t, ann))
	n.poison(2, 0)
	b := open(t, bearing(tokenOf("ann")))
	b.do(narrow(1200))
	b.goTo(n.pages + "/")
	b.is("no row is chosen", `document.querySelectorAll("tr.sel").length === 0`)
	b.press("j")
	b.is("j chooses the first row, and its link", `[...document.querySelectorAll("[data-row]")].findIndex(r => r.classList.contains("sel")) === 0 && document.querySelector("tr.sel").contains(document.activeElement)`)
	b.press("jjjj")
	b.is("j ends at the last row", `[...document.querySelectorAll("[data-row]")].at(-1).classList.contains("sel")`)
	b.press("kkkkkk")
	b.is("k ends at the first row", `document.querySelector("[data-row]").classList.contains("sel") && document.querySelectorAll("tr.sel").length === 1`)
	b.press("?")
	b.is("? shows the keys", `document.getElementById("keys").open`)
	b.press("/")
	b.is("a dialog has the keys", `document.activeElement !== document.querySelector(".find")`)
	run[bool](b, `(document.getElementById("keys").close(), true)`)
	b.press("/")
	b.is("/ goes to the finder", `document.activeElement === document.querySelector(".find")`)
	b.press("j")
	b.is("a field keeps its letters", `document.querySelector(".find").value.endsWith("j")`)

	b.goTo(n.alert)
	for key, action := range map[string]string{"r": "rehearse", "p": "plan"} {
		b.press(key)
		b.is(key+" goes to the button, and does not press it", `document.activeElement.form?.action.endsWith("/`+action+`")`)
	}
	b.is("the clipboard is offered", `document.querySelector("button.copy").hidden === !navigator.clipboard`)
	b.do(chromedp.Click(chromedp.CSS("details.act summary")))
	b.is("a form opens", `document.querySelectorAll("details.act[open]").length === 1`)
	b.press("\x1b")
	b.is("Escape closes it", `document.querySelectorAll("details.act[open]").length === 0`)
	b.do(chromedp.Click(chromedp.CSS("details.act summary")), chromedp.Click(chromedp.CSS("h1")))
	b.is("a click elsewhere closes it", `document.querySelectorAll("details.act[open]").length === 0`)
	b.is("a second click is held back", `(() => { const f = document.querySelector("form[action$='/plan']"); f.addEventListener("submit", e => e.preventDefault()); f.requestSubmit();
		return new Promise(done => setTimeout(() => done(f.querySelector("button").disabled), 20)) })()`)
	b.is("a page that comes back works again", `(dispatchEvent(new Event("pageshow")), !document.querySelector("form[action$='/plan'] button").disabled)`)
}

// A page that is alive changes by itself, but not under the hands of a person.
func TestPageIsAlive(t *testing.T) {
	t.Parallel()
	n := newNight(t, tokens(t, ann))
	n.poison(2, 0)
	b := open(t, bearing(tokenOf("ann")))
	b.goTo(n.pages + "/")
	b.is("nothing is held back", `(() => { window.asked = 0; addEventListener("htmx:before:request", e => { if (!e.defaultPrevented) window.asked++; }); return true })()`)
	b.is("a part of it is asked for", `new Promise(done => { const old = document.getElementById("live"); const id = setInterval(() => { if (document.getElementById("live") !== old) { clearInterval(id); done(true) } }, 50) })`)
	b.goTo(n.pages + "/consumers")
	b.do(chromedp.Click(chromedp.CSS("details summary")))
	b.is("the field is there", `!!document.querySelector("input[name=reason]")`)
	b.goTo(n.alert)
	run[bool](b, `(() => { const live = document.createElement("div"); live.id = "live"; live.innerHTML = "<input id=busy>"; document.body.append(live); document.getElementById("busy").focus(); return true })()`)
	b.is("a field in use holds the page back", `!document.body.dispatchEvent(new Event("htmx:before:request", {bubbles: true, cancelable: true}))`)
	run[bool](b, `(document.activeElement.blur(), true)`)
	b.is("and no longer", `document.body.dispatchEvent(new Event("htmx:before:request", {bubbles: true, cancelable: true}))`)
}

// is fails unless a script returns true.
func (b *tab) is(what, script string) {
	b.Helper()
	if !run[bool](b, script, chromedp.EvalAwaitPromise) {
		b.Errorf("it is not so that %s", what)
	}
}

// press presses keys one after another.
func (b *tab) press(keys string) {
	b.Helper()
	b.do(chromedp.KeyEvent(keys))
}
