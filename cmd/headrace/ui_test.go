package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headrace/headrace/ui/login"
	"github.com/headrace/headrace/ui/who"
)

// uiReader looks at the pages when the command says where they are, and then stops it.
type uiReader struct {
	*testing.T
	stop context.CancelFunc
	said strings.Builder
	page string
	// metrics is what a program without a login reads; beats come from the heartbeat.
	metrics string
	beats   chan struct{}
}

var uiAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\S+`)

func (u *uiReader) Write(b []byte) (int, error) {
	u.said.Write(b)
	if url := uiAddress.FindString(u.said.String()); url != "" && u.page == "" {
		defer u.stop()
		jar, _ := cookiejar.New(nil) // never fails without options
		client := &http.Client{Jar: jar}
		defer client.CloseIdleConnections()
		base, _, _ := strings.Cut(url, "/login")
		for _, to := range []string{url, base + "/login", base + "/", base + metricsPath, base + "/assets/headrace.css", base + "/nosuch"} {
			u.foreign(client, to)
		}
		answer, err := client.Get(url) // the link for one use, which leads to the pages
		if err != nil {
			u.Error(err)
			return len(b), nil
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		if err != nil {
			u.Error(err)
		}
		u.page = string(page)
		if answer, err = http.Get(base + metricsPath); err != nil {
			u.Error(err)
			return len(b), nil
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			u.Error(answer.Status, err)
		}
		u.metrics = string(text)
		<-u.beats
	}
	return len(b), nil
}

// foreign asks under the name of another site, as a page of it could: it is refused whatever it asks, and the link for
// one use stays unused.
func (u *uiReader) foreign(client *http.Client, url string) {
	for _, method := range []string{"GET", "POST"} {
		r, err := http.NewRequest(method, url, nil)
		if err != nil {
			u.Error(err)
			return
		}
		r.Host = "evil.example:8090"
		answer, err := client.Do(r)
		if err != nil {
			u.Error(err)
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusMisdirectedRequest || len(answer.Cookies()) > 0 {
			u.Errorf("%s %s under another name: %s, %v", method, r.URL.Path, answer.Status, answer.Cookies())
		}
	}
}

// The command serves the pages until it is stopped, on loopback only, and under its own names only.
func TestUI(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "2")
	u := &uiReader{T: t, beats: make(chan struct{}, 9)}
	monitor := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { u.beats <- struct{}{} }))
	defer monitor.Close()
	file := receiversFile(t, "allow 127.0.0.0/8\nheartbeat "+monitor.URL)
	p.run(exitDone, func(m *Main) {
		m.Stderr = u
		m.Interruptible = func(ctx context.Context) (context.Context, context.CancelFunc) {
			work, stop := context.WithCancel(ctx)
			u.stop = stop
			return work, stop
		}
	}, "ui", "--listen", "127.0.0.1:0", "--name", "shop-prod", "--metrics", "--alerts", file)
	for _, want := range []string{"shop-prod", "context deadline exceeded", "headrace status"} {
		if !strings.Contains(u.page, want) {
			t.Errorf("the page lacks %q: %s", want, u.page)
		}
	}
	for _, want := range []string{`headrace_dead_letters_open{headrace_class="exhausted",headrace_consumer="billing"} 2`, `headrace_consumer_paused_ratio{headrace_consumer="billing"} 0`} {
		if !strings.Contains(u.metrics, want) {
			t.Errorf("the metrics lack %s:\n%s", want, u.metrics)
		}
	}
	for _, address := range []string{"0.0.0.0:8090", "192.0.2.1:8090", ":8090"} {
		p.run(exitUsage, nil, "ui", "--listen", address)
	}
	p.run(exitUsage, nil, "ui", "--listen", "8090")
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, fmt.Appendf(nil, "ann viewer %x\n", sha256.Sum256([]byte("x"))), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0"} { // no browser could call
		if p.run(exitUsage, nil, "ui", "--listen", address, "--tokens", tokens); !strings.Contains(p.stderr.String(), "--host") {
			t.Errorf("%s: %s", address, &p.stderr)
		}
	}
	if at := served(&net.TCPAddr{IP: net.IPv6unspecified, Port: 8090}, []string{"ui.example"}, "/"); at != "http://ui.example:8090/" {
		t.Error(at)
	}
	p.run(exitUsage, nil, "ui", "--alerts", receiversFile(t, "slack"))
}

// Who may not look at the pages reads no metrics, but for programs of this machine where a link signs in; and no page of
// another name does.
func TestWhoReadsMetrics(t *testing.T) {
	token := strings.Repeat("7f3a", 16)
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, fmt.Appendf(nil, "prometheus viewer %x\n", sha256.Sum256([]byte(token))), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := login.NewTokens(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	link := login.NewLink(who.Person{Name: "ann", Role: who.Admin})
	for _, c := range []struct {
		way         login.Way
		host, token string
		want        int
	}{
		{link, "127.0.0.1:8090", "", 200}, {link, "evil.example", "", 421},
		{tokens, "127.0.0.1:8090", "", 401}, {tokens, "127.0.0.1:8090", "Bearer x" + token, 401}, {tokens, "127.0.0.1:8090", "Bearer " + token, 200}, {tokens, "evil.example", "Bearer " + token, 421},
	} {
		r := httptest.NewRequest("GET", "http://"+c.host+metricsPath, nil)
		if c.token != "" {
			r.Header.Set("Authorization", c.token)
		}
		w := httptest.NewRecorder()
		guarded := guard(c.way, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		login.ByName(login.Names("127.0.0.1:8090", nil), guarded).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%T %s %q: %d, want %d", c.way, c.host, c.token, w.Code, c.want)
		}
	}
}
