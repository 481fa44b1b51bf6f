package browser

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/ui/login"
	"github.com/headrace/headrace/ui/who"
)

// What a person clicks.
const (
	rehearseIt = `form[action$="/rehearse"] button`
	planIt     = `form[action$="/plan"] button`
	applyIt    = `form[action$="/apply"] button[class*="wide"]`
	reason     = `form[action$="/apply"] textarea[name="reason"]`
	done       = `.head .chip.done`
)

// rehearsing is held by a rehearsal: a process has one at a time, and the consumers of all tests are in this one.
var rehearsing sync.Mutex

// rehearse clicks, and waits for what comes of it.
func (b *tab) rehearse() {
	rehearsing.Lock()
	defer rehearsing.Unlock()
	b.click(rehearseIt)
	b.wait(planIt)
}

var (
	ann = who.Person{Name: "ann", Role: who.Operator}
	bo  = who.Person{Name: "bo", Role: who.Operator}
)

// The path: from the alert in a chat to the one that says it is resolved, with every effect once.
func TestPathOfANight(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string][]chromedp.Action[chromedp.Void]{"scripts": nil, "no scripts": {noScripts()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link := login.NewLink(who.Person{Name: "ann", Role: who.Admin})
			n := newNight(t, link)
			alert := n.poison(14, 6)
			b := open(t, prepare...)
			if status := b.goTo(n.pages + link.Path()); status != http.StatusOK {
				t.Fatalf("the link: %d", status)
			}
			b.goTo(n.chat)

			b.click("#alert")
			b.wait(rehearseIt)
			b.says("14 open letters")
			b.says("the total is negative")
			b.rehearse()
			b.says("All 14 rehearsed letters would pass")
			b.click(planIt)
			b.write(reason, "negative totals are credit notes, INC-412")
			b.click(applyIt)
			b.wait(done)
			b.says("INC-412")
			n.resolved()
			if over := n.gets("resolved"); over.Key != alert.Key {
				t.Errorf("the incident %s is resolved, and not %s", over.Key, alert.Key)
			}
			if b.clicks > 5 {
				t.Errorf("%d clicks", b.clicks)
			}
			b.goTo(n.pages + n.group)
			b.says("resolved")
			n.once()
		})
	}
}

// A button that is clicked twice does its work once, also where no script holds back the second click.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string][]chromedp.Action[chromedp.Void]{"scripts": nil, "no scripts": {noScripts()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNight(t, tokens(t, ann))
			n.poison(3, 0)
			b := open(t, append(prepare, bearing(tokenOf("ann")))...)
			b.goTo(n.pages + n.group)
			b.do(chromedp.DoubleClick(chromedp.CSS(planIt)))
			n.eventually("there is a plan", func() bool { return n.redrives() > 0 })
			b.goTo(n.pages + "/r/1")
			b.write(reason, "mended")
			b.do(chromedp.DoubleClick(chromedp.CSS(applyIt)))
			n.resolved()
			b.goTo(n.pages + "/r/1")
			b.wait(done)
			n.once()
		})
	}
}

// A fix that does not hold changes nothing but one letter, and the alert goes on.
func TestFixThatDoesNotHold(t *testing.T) {
	t.Parallel()
	n := newNight(t, tokens(t, ann))
	n.poison(4, 0)
	n.run("v1.8.2", func(paid) error { return retry.Permanent(errors.New("the total is negative")) })
	b := open(t, bearing(tokenOf("ann")))
	b.goTo(n.alert)
	b.rehearse()
	b.says("0 of 4 rehearsed letters would pass")
	b.click(planIt)
	b.write(reason, "it should hold")
	b.click(applyIt)
	b.wait(`.head .chip.paused`)
	b.says("failed again")
	b.says("succeeded 0")
	list, err := n.st.Operations().Conditions.List(t.Context(), "billing", false)
	if err != nil || !slices.ContainsFunc(list, func(c condition.Condition) bool {
		return c.Kind == alerts.GroupFailing && c.State == condition.Firing && c.Quiet.IsZero()
	}) {
		t.Errorf("the alert does not fire any more: %+v, %v", list, err)
	}
	n.sent = 0
	n.once()
}

// Of two people who look at the same page the second is told what the first has done, and does nothing.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	n := newNight(t, tokens(t, ann, bo))
	n.poison(3, 0)
	first, second := open(t, bearing(tokenOf("ann"))), open(t, bearing(tokenOf("bo")))
	for _, b := range []*tab{first, second} {
		b.goTo(n.pages + n.group)
		b.wait(planIt)
	}
	if status := first.click(planIt); status != http.StatusOK {
		t.Errorf("the first plan: %d", status)
	}
	if status := second.click(planIt); status != http.StatusConflict {
		t.Errorf("the second plan: %d", status)
	}
	second.says("It has changed since you looked")
	second.says("R-1")
	if made := n.redrives(); made != 1 {
		t.Errorf("%d redrives", made)
	}

	second.goTo(n.pages + "/r/1")
	for _, b := range []*tab{first, second} {
		b.write(reason, "mended")
	}
	if status := first.click(applyIt); status != http.StatusOK {
		t.Errorf("the first apply: %d", status)
	}
	if status := second.click(applyIt); status != http.StatusConflict { // a stale tab
		t.Errorf("the second apply: %d", status)
	}
	second.says("by ann")
	first.wait(done)
	n.resolved()
	n.once()
}

// A viewer has no button, and a form of another site does nothing.
func TestNoRight(t *testing.T) {
	t.Parallel()
	n := newNight(t, tokens(t, ann, who.Person{Name: "vi", Role: who.Viewer}))
	n.poison(2, 0)
	b := open(t, bearing(tokenOf("vi")))
	b.goTo(n.pages + n.group)
	b.says("2 open letters")
	if forms := run[int](b, `document.querySelectorAll("form[method=post]").length`); forms != 0 {
		t.Errorf("a viewer has %d forms", forms)
	}
	other := open(t, bearing(tokenOf("ann")))
	other.goTo(n.chat)
	run[bool](other, `(() => { const f = document.createElement("form"); f.method = "post"; f.action = document.getElementById("alert").href + "/plan"; f.id = "forged";
		f.innerHTML = '<input name="consumer" value="billing"><input name="handler" value="orders.paid"><button>win</button>'; document.body.append(f); return true })()`)
	if status := other.click("#forged button"); status != http.StatusForbidden {
		t.Errorf("a form of another site: %d", status)
	}
	if made := n.redrives(); made != 0 {
		t.Errorf("%d redrives", made)
	}
}
