package browser

import (
	"errors"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/ui/who"
)

// Pages that a person sees seldom are as accessible as the others: which of two groups, the plan of a discard, and what is
// refused.
func TestPagesThatAreRare(t *testing.T) {
	t.Parallel()
	n := newNight(t, tokens(t, ann, who.Person{Name: "vi", Role: who.Viewer}))
	n.run("v1.8.0", func(paid) error { return retry.Permanent(errors.New("the total is negative")) })
	n.deliver("order-1", -1, nil)
	n.deliverTo("orders.refunded", "order-2", -1, nil)
	var list []groups.Group
	n.eventually("both handlers have a group", func() (is bool) {
		var err error
		list, err = n.st.Operations().Groups.List(t.Context(), groups.Filter{})
		return err == nil && len(list) == 2
	})
	if list[0].ErrorFingerprint != list[1].ErrorFingerprint {
		t.Fatalf("two fingerprints: %+v", list)
	}
	n.run("v1.8.1", func(paid) error { return nil })

	b, stale := open(t, bearing(tokenOf("ann"))), open(t, bearing(tokenOf("ann")))
	both := "/g/" + list[0].ErrorFingerprint
	b.look(n, both)
	b.says("Which group?")
	for _, one := range []*tab{b, stale} {
		one.goTo(n.pages + both + "?handler=orders.paid&consumer=billing")
		one.do(chromedp.Click(chromedp.CSS(`details.act:has(form[action$="/discard"]) summary`)))
	}
	const discard = `form[action$="/discard"] button`
	b.asAllOthers("an open form")
	if status := b.click(discard); status != http.StatusOK {
		t.Errorf("the plan of a discard: %d", status)
	}
	b.wait(reason)
	b.says("Discard 1 letter?")
	b.asAllOthers("the plan of a discard")
	stale.isRefused(stale.click(discard), http.StatusConflict, "It has changed since you looked")

	b.isRefused(b.goTo(n.pages+"/l/99"), http.StatusNotFound, "no such dead letter")
	b.isRefused(b.goTo(n.pages+"/nosuch/page"), http.StatusNotFound, "There is no such page")
	b.isRefused(b.goTo(n.pages+"/audit?cursor=x"), http.StatusBadRequest, "The cursor is a number")
	vi := open(t, bearing(tokenOf("vi")))
	vi.isRefused(vi.goTo(n.pages+"/backlog"), http.StatusForbidden, "This needs the role operator")
}

// isRefused fails unless the page that is open was refused, in words, and is as accessible as the others.
func (b *tab) isRefused(status, want int64, words string) {
	b.Helper()
	if status != want {
		b.Errorf("%d, want %d", status, want)
	}
	b.says(words)
	b.asAllOthers(http.StatusText(int(want)))
}
