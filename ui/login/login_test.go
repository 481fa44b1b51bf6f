package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/ui/who"
)

// site is a way before a page that says who looks at it.
type site struct {
	*testing.T
	way  Way
	url  string
	next atomic.Int64 // requests that reached the page
}

func serve(t *testing.T, way Way) *site {
	t.Helper()
	l, err := Listen("127.0.0.1:0", way)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, way: way, url: "http://" + l.Addr().String()}
	s.serveOn(l)
	return s
}

func (s *site) serveOn(l net.Listener) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.next.Add(1)
		person, err := s.way.Identify(r)
		if err != nil {
			s.Errorf("the page was reached without a person: %v", err)
		}
		_, _ = io.WriteString(w, person.Name+" "+person.Role.String())
	})
	server := &http.Server{Handler: s.way.Handler(page), ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	s.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
}

// get returns the status and the body, and for a refusal whether the page stayed untouched.
func (s *site) get(client *http.Client, path string, header ...string) (int, string, http.Header) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	before := s.next.Load()
	answer, err := client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK && s.next.Load() != before {
		s.Errorf("GET %s: %d, but the page ran", path, answer.StatusCode)
	}
	return answer.StatusCode, string(body), answer.Header
}

func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport}
}

// hand is a clock that a test moves.
type hand struct{ at atomic.Int64 }

func (h *hand) now() time.Time           { return time.Unix(0, h.at.Load()) }
func (h *hand) forward(by time.Duration) { h.at.Add(int64(by)) }

func linkSite(t *testing.T) (*site, *Link, *hand) {
	clock := &hand{}
	clock.at.Store(time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	link := NewLink(who.Person{Name: "ann", Role: who.Admin})
	link.now = clock.now
	return serve(t, link), link, clock
}

func TestLinkOpensOnce(t *testing.T) {
	s, link, clock := linkSite(t)
	mine, other := browser(t), browser(t)
	path := link.Path()
	if status, body, _ := s.get(mine, "/"); status != http.StatusUnauthorized || strings.Contains(body, "refresh") {
		t.Errorf("without a cookie: %d %s", status, body)
	}
	if status, body, _ := s.get(mine, path); status != http.StatusOK || body != "ann admin" {
		t.Fatalf("the link: %d %q", status, body)
	}
	if status, _, _ := s.get(other, path); status != http.StatusUnauthorized {
		t.Errorf("the link again, in another browser: %d", status)
	}
	if status, _, _ := s.get(mine, path); status != http.StatusOK {
		t.Errorf("the link again, in the same browser: %d", status)
	}
	clock.forward(sessionFor - time.Second)
	if status, _, _ := s.get(mine, "/g/7f3a"); status != http.StatusOK {
		t.Errorf("just before 12 hours: %d", status)
	}
	clock.forward(time.Second)
	if status, _, _ := s.get(mine, "/"); status != http.StatusUnauthorized {
		t.Errorf("after 12 hours: %d", status)
	}
}

func TestLinkExpires(t *testing.T) {
	s, link, clock := linkSite(t)
	first := link.Path()
	second := link.Path()
	if status, _, _ := s.get(browser(t), first); status != http.StatusUnauthorized {
		t.Errorf("a link that another has replaced: %d", status)
	}
	clock.forward(linkFor)
	if status, _, _ := s.get(browser(t), second); status != http.StatusUnauthorized {
		t.Errorf("after 5 minutes: %d", status)
	}
	clock.forward(-time.Second)
	if status, _, _ := s.get(browser(t), second); status != http.StatusOK {
		t.Errorf("just before 5 minutes: %d", status)
	}
}

func TestLinkIsNotGuessed(t *testing.T) {
	s, link, _ := linkSite(t)
	if status, _, _ := s.get(browser(t), "/login?once="); status != http.StatusUnauthorized {
		t.Error("the empty secret was taken before there was a link")
	}
	path := link.Path()
	for _, guess := range []string{"/login", "/login?once=", path[:len(path)-1], path + "A", "/login?once=" + strings.Repeat("A", 26)} {
		if status, _, _ := s.get(browser(t), guess); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", guess, status)
		}
	}
	if status, _, _ := s.get(browser(t), "/", "Cookie", "headrace_"+s.url[strings.LastIndex(s.url, ":")+1:]+"=AAAA"); status != http.StatusUnauthorized {
		t.Errorf("a guessed cookie: %d", status)
	}
	answer, err := browser(t).Post(s.url+path, "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", answer.StatusCode)
	}
	if status, _, _ := s.get(browser(t), path); status != http.StatusOK {
		t.Error("guesses or a POST used the link up")
	}
}

func TestLinkCookie(t *testing.T) {
	s, link, _ := linkSite(t)
	client := browser(t)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	_, _, header := s.get(client, link.Path())
	cookie, err := http.ParseSetCookie(header.Get("Set-Cookie"))
	if err != nil {
		t.Fatal(err)
	}
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.MaxAge != 12*60*60 || cookie.Path != "/" || cookie.Domain != "" {
		t.Errorf("cookie: %s", cookie)
	}
	if header.Get("Location") != "/" || header.Get("Referrer-Policy") != "no-referrer" || header.Get("Cache-Control") != "no-store" {
		t.Errorf("answer: %v", header)
	}
	// An alert in a chat: the browser keeps the cookie back, and the page opens itself once more.
	if status, body, _ := s.get(browser(t), "/g/7f3a", "Sec-Fetch-Site", "cross-site"); status != http.StatusUnauthorized || !strings.Contains(body, `http-equiv="refresh"`) {
		t.Errorf("from another site: %d %s", status, body)
	}
}

// Ways that trust the address of a request do so only for addresses of this machine.
func TestOnlyThisMachineIsTrusted(t *testing.T) {
	link := NewLink(who.Person{Name: "ann", Role: who.Admin})
	proxy := proxyFor(t, "")
	for from, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true,
		"10.0.0.7:1": false, "[::ffff:10.0.0.7]:1": false, "192.168.0.1:1": false, "[fe80::1%eth0]:1": false, "": false, "@": false, "127.0.0.1": false,
	} {
		r, _ := http.NewRequest(http.MethodGet, "http://localhost:8090/", nil)
		r.RemoteAddr = from
		r.Header.Set("X-Forwarded-User", "ann")
		r.Header.Set("X-Forwarded-Groups", "oncall")
		if _, err := proxy.Identify(r); (err == nil) != want {
			t.Errorf("proxy, from %q: %v", from, err)
		}
		session, ok := link.take(strings.TrimPrefix(link.Path(), "/login?once="))
		if !ok {
			t.Fatal("no session")
		}
		r.AddCookie(&http.Cookie{Name: "headrace_8090", Value: session})
		if _, err := link.Identify(r); (err == nil) != want {
			t.Errorf("link, from %q: %v", from, err)
		}
	}
}

func TestListen(t *testing.T) {
	link, bare, proven := NewLink(who.Person{}), proxyFor(t, ""), proxyFor(t, secret)
	tokens := &Tokens{path: "none", logger: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		address string
		way     Way
		want    bool
	}{
		{"127.0.0.1:0", link, true}, {"localhost:0", link, true}, {"127.0.0.1:0", bare, true},
		{"0.0.0.0:0", link, false}, {":0", link, false}, {"[::]:0", link, false}, {":0", bare, false}, {"10.0.0.1:0", link, false},
		{":0", proven, true}, {":0", tokens, true}, {"nonsense", tokens, false},
	} {
		l, err := Listen(c.address, c.way)
		if (err == nil) != c.want {
			t.Errorf("%T on %s: %v", c.way, c.address, err)
		}
		if err == nil {
			_ = l.Close()
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ address, want string }{
		{"127.0.0.1:8090", "ops.example 127.0.0.1 localhost 127.0.0.1 ::1"}, {"localhost:8090", "ops.example localhost localhost 127.0.0.1 ::1"},
		{"[::1]:8090", "ops.example ::1 localhost 127.0.0.1 ::1"}, {"10.0.0.7:8090", "ops.example 10.0.0.7"}, {"db1:8090", "ops.example db1"},
		{":8090", "ops.example"}, {"0.0.0.0:8090", "ops.example"}, {"[::]:8090", "ops.example"}, {"unix:/run/s", "ops.example localhost"},
	} {
		if got := strings.Join(Names(c.address, []string{"ops.example"}), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.address, got, c.want)
		}
	}
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func fileOf(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "tokens")
	write(t, path, text)
	return path
}

// The address that a connection came to is no name that another site can take.
func TestByTheAddressOfTheConnection(t *testing.T) {
	pages := ByName([]string{"ui.example"}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	v4, v6 := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 8090}, &net.TCPAddr{IP: net.ParseIP("fe80::5"), Port: 8090, Zone: "eth0"}
	for _, c := range []struct {
		local net.Addr
		host  string
		want  int
	}{
		{v4, "ui.example", 200}, {v4, "10.0.0.5:8090", 200}, {v4, "10.0.0.5", 200}, {v4, "[::ffff:10.0.0.5]:8090", 200}, {v6, "[fe80::5]:8090", 200}, {v6, "[fe80::5]", 200},
		{v4, "10.0.0.6:8090", 421}, {v4, "10.0.0.5.evil.example:8090", 421}, {v4, "evil.example", 421}, {v4, "167772165", 421}, {v4, "", 421}, {v6, "10.0.0.5", 421},
		{nil, "10.0.0.5", 421}, {&net.UnixAddr{Name: "10.0.0.5"}, "10.0.0.5", 421},
	} {
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, c.local), http.MethodGet, "/", nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		if pages.ServeHTTP(w, r); w.Code != c.want || c.want == 421 && !strings.Contains(w.Body.String(), "Options.Hosts") {
			t.Errorf("%q to %v: %d %s", c.host, c.local, w.Code, w.Body)
		}
	}
}
