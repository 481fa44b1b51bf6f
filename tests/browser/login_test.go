package browser

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/headrace/headrace/ui/login"
	"github.com/headrace/headrace/ui/who"
)

// A harness that sees nothing would pass everything.
func TestHarnessSees(t *testing.T) {
	t.Parallel()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "script-src 'self'; style-src 'self'")
		_, _ = w.Write([]byte(`<html><body style="color:red"><img src="/x"><script>alert(1)</script></body></html>`))
	}))
	defer bad.Close()
	b := open(t)
	b.goTo(bad.URL)
	if faults := strings.Join(b.seen(), "\n"); !strings.Contains(faults, "inline style") || !strings.Contains(faults, "inline script") {
		t.Errorf("the policy was broken in two ways; seen: %s", faults)
	}
	if len(b.barriers()) == 0 {
		t.Error("an image without a text was accessible")
	}
}

// page says who looks at it, and has a link that is followed from a chat.
func chatAnd(t *testing.T, way login.Way) (chat, pages string) {
	t.Helper()
	inner := httptest.NewServer(way.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person, _ := way.Identify(r)
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>in</title><main><h1 id="in">` + person.Name + ` at ` + r.URL.Path + `</h1></main>`))
	})))
	t.Cleanup(inner.Close)
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<!doctype html><a id="alert" href="` + inner.URL + `/g/7f3a">7f3a</a>`))
	}))
	t.Cleanup(outer.Close)
	return strings.Replace(outer.URL, "127.0.0.1", "localhost", 1), inner.URL
}

// A strict cookie is kept back from a request that a chat begins: the page opens itself once more.
func TestLinkFromAChat(t *testing.T) {
	t.Parallel()
	link := login.NewLink(who.Person{Name: "ann", Role: who.Admin})
	chat, pages := chatAnd(t, link)
	b := open(t)
	if status := b.goTo(pages + "/"); status != http.StatusUnauthorized {
		t.Errorf("not signed in: %d", status)
	}
	b.says("Not signed in")
	b.accessible("not signed in")
	path := link.Path()
	b.goTo(pages + path)
	b.says("ann at /")
	b.goTo(chat)
	b.click("#alert")
	b.wait("#in")
	b.says("ann at /g/7f3a")

	other := open(t)
	if status := other.goTo(pages + path); status != http.StatusUnauthorized {
		t.Errorf("the link in another browser: %d", status)
	}
	other.accessible("a used link")
	other.goTo(chat) // not signed in: no loop
	other.click("#alert")
	other.wait("code")
	other.says("Open the link that headrace ui printed")
}
