package login

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/ui/who"
)

const secret = "a-secret-of-twenty-bytes"

func proxyFor(t *testing.T, secret string) *Proxy {
	t.Helper()
	p, err := NewProxy(ProxyOptions{
		User: "X-Forwarded-User", Groups: "X-Forwarded-Groups", Secret: secret,
		Roles: map[string]who.Role{"oncall": who.Operator, "dev": who.Viewer, "leads": who.Admin},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProxyNamesPeople(t *testing.T) {
	s := serve(t, proxyFor(t, ""))
	for _, c := range []struct {
		name    string
		headers []string
		want    string // "" is refused
	}{
		{"one group", []string{"X-Forwarded-User", "ann", "X-Forwarded-Groups", "oncall"}, "ann operator"},
		{"the greatest role", []string{"X-Forwarded-User", "ann", "X-Forwarded-Groups", "dev, leads ,x", "X-Forwarded-Groups", "oncall"}, "ann admin"},
		{"no name", []string{"X-Forwarded-Groups", "leads"}, ""},
		{"an empty name", []string{"X-Forwarded-User", "", "X-Forwarded-Groups", "leads"}, ""},
		{"two names: the client's and the proxy's", []string{"X-Forwarded-User", "root", "X-Forwarded-User", "ann", "X-Forwarded-Groups", "leads"}, ""},
		{"no group", []string{"X-Forwarded-User", "ann"}, ""},
		{"groups without a role", []string{"X-Forwarded-User", "ann", "X-Forwarded-Groups", "lead,on call,LEADS"}, ""},
		{"a name that hides its end", []string{"X-Forwarded-User", "ann\u202eboss", "X-Forwarded-Groups", "leads"}, ""},
		{"a long name", []string{"X-Forwarded-User", strings.Repeat("a", 201), "X-Forwarded-Groups", "leads"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, _ := s.get(browser(t), "/", c.headers...)
			if (status == http.StatusOK) != (c.want != "") || c.want != "" && body != c.want {
				t.Errorf("%d %q, want %q", status, body, c.want)
			}
		})
	}
}

func TestProxyProvesItself(t *testing.T) {
	s := serve(t, proxyFor(t, secret))
	ann := []string{"X-Forwarded-User", "ann", "X-Forwarded-Groups", "leads"}
	for name, values := range map[string][]string{
		"none": nil, "empty": {SecretHeader, ""}, "guessed": {SecretHeader, secret[:len(secret)-1] + "x"}, "the first bytes": {SecretHeader, secret[:20]},
		"twice": {SecretHeader, "x", SecretHeader, secret},
	} {
		if status, _, _ := s.get(browser(t), "/", append(values, ann...)...); status != http.StatusForbidden {
			t.Errorf("secret %s: %d", name, status)
		}
	}
	if status, body, _ := s.get(browser(t), "/", append([]string{SecretHeader, secret}, ann...)...); status != http.StatusOK || body != "ann admin" {
		t.Errorf("with the secret: %d %q", status, body)
	}
}

func TestProxyOnUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	way := proxyFor(t, "")
	l, err := Listen("unix:"+path, way)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, way: way, url: "http://localhost"}
	s.serveOn(l)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	if status, body, _ := s.get(&http.Client{Transport: transport}, "/", "X-Forwarded-User", "ann", "X-Forwarded-Groups", "dev"); status != http.StatusOK || body != "ann viewer" {
		t.Errorf("%d %q", status, body)
	}
}

func TestProxyOptions(t *testing.T) {
	good := ProxyOptions{User: "U", Groups: "G", Roles: map[string]who.Role{"g": who.Viewer}}
	for name, change := range map[string]func(*ProxyOptions){
		"no header": func(o *ProxyOptions) { o.User = "" }, "no groups": func(o *ProxyOptions) { o.Groups = "" },
		"no roles": func(o *ProxyOptions) { o.Roles = nil }, "no role": func(o *ProxyOptions) { o.Roles = map[string]who.Role{"g": 0} },
		"a list as a group": func(o *ProxyOptions) { o.Roles = map[string]who.Role{"a,b": who.Viewer} }, "a short secret": func(o *ProxyOptions) { o.Secret = "short" },
	} {
		o := good
		if change(&o); func() error { _, err := NewProxy(o); return err }() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := NewProxy(good); err != nil {
		t.Error(err)
	}
}

const annsToken, bosToken = "0123456789abcdef-of-ann", "0123456789abcdef-of-bo"

func TestTokens(t *testing.T) {
	path := fileOf(t, "# people\n\nann admin "+hashOf(annsToken)+"\r\n\tbo   viewer "+strings.ToUpper(hashOf(bosToken))+"\n")
	var log bytes.Buffer
	tokens, err := NewTokens(path, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, tokens)
	check := func(name string, want int, who string, headers ...string) {
		t.Helper()
		status, body, header := s.get(browser(t), "/", headers...)
		if status != want || want == http.StatusOK && body != who {
			t.Errorf("%s: %d %q, want %d %q", name, status, body, want, who)
		}
		if challenge := header.Get("WWW-Authenticate"); (challenge != "") != (want == http.StatusUnauthorized) {
			t.Errorf("%s: challenge %q", name, challenge)
		}
	}
	basic := func(user, password string) string {
		r := &http.Request{Header: make(http.Header)}
		r.SetBasicAuth(user, password)
		return r.Header.Get("Authorization")
	}
	check("bearer", 200, "ann admin", "Authorization", "Bearer "+annsToken)
	check("in small letters", 200, "bo viewer", "Authorization", "bearer  "+bosToken)
	check("password", 200, "bo viewer", "Authorization", basic("", bosToken))
	check("another name beside it", 200, "bo viewer", "Authorization", basic("ann", bosToken)) // bo signs as bo
	check("none", 401, "")
	check("guessed", 401, "", "Authorization", "Bearer 0123456789abcdef-of-cy")
	check("the hash itself", 401, "", "Authorization", "Bearer "+hashOf(annsToken))
	check("as the user", 401, "", "Authorization", basic(annsToken, ""))
	check("two", 401, "", "Authorization", "Bearer "+annsToken, "Authorization", "Bearer "+annsToken)
	check("another scheme", 401, "", "Authorization", "Digest "+annsToken)

	write(t, path, "ann viewer "+hashOf(annsToken)) // as long as before is not needed: it is read each time
	check("a smaller role", 200, "ann viewer", "Authorization", "Bearer "+annsToken)
	check("removed", 401, "", "Authorization", "Bearer "+bosToken)
	write(t, path, "ann viewer "+hashOf(annsToken)+"\nbo boss "+hashOf(bosToken))
	check("a broken file", 503, "", "Authorization", "Bearer "+annsToken)
	if !strings.Contains(log.String(), path+":2: ") || strings.Contains(log.String(), hashOf(bosToken)) {
		t.Errorf("log: %s", &log)
	}
	check("a broken file, without a token", 401, "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check("no file", 503, "", "Authorization", "Bearer "+annsToken)
	write(t, path, "ann operator "+hashOf(annsToken))
	check("a new file", 200, "ann operator", "Authorization", "Bearer "+annsToken)
	write(t, path, "ann operator "+hashOf("short"))
	check("a token that is too short", 401, "", "Authorization", "Bearer short")
}

func TestTokenFileErrors(t *testing.T) {
	hash := hashOf(annsToken)
	for text, line := range map[string]int{
		"ann admin":                              1,
		"# c\n\nann admin " + hash + " more":     3,
		"ann boss " + hash:                       1,
		"ann none " + hash:                       1,
		"ann admin " + hash[1:]:                  1,
		"ann admin " + hash + "00":               1,
		"ann admin xx" + hash[2:]:                1,
		"a\x00b admin " + hash:                   1,
		"a\xffb admin " + hash:                   1,
		"a admin " + hash + "\nb viewer " + hash: 2,
		"":                                       0, "# nothing": 0, // not of a line
	} {
		_, err := NewTokens(fileOf(t, text), nil)
		var wrong *FileError
		if err == nil || errors.As(err, &wrong) != (line > 0) || wrong != nil && wrong.Line != line {
			t.Errorf("%q: %v, want line %d", text, err, line)
		}
		if err != nil && strings.Contains(err.Error(), hash[4:60]) {
			t.Errorf("the error repeats the hash: %v", err)
		}
	}
	if _, err := parse("f", make([]byte, maxFile+1)); err == nil {
		t.Error("a file over the limit was taken")
	}
}

func FuzzTokenFile(f *testing.F) {
	f.Add([]byte("# c\nann admin " + hashOf(annsToken) + "\r\n\nbo viewer " + hashOf(bosToken)))
	f.Add([]byte("ann admin"))
	f.Add([]byte("\x00 \xff\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parse("f", text)
		if (err == nil) != (len(list) > 0) {
			t.Fatalf("%d tokens, %v", len(list), err)
		}
		lines := bytes.Count(text, []byte("\n")) + 1
		if wrong := (*FileError)(nil); errors.As(err, &wrong) && (wrong.Line < 1 || wrong.Line > lines) {
			t.Fatalf("line %d of %d", wrong.Line, lines)
		}
		if len(list) > lines {
			t.Fatalf("%d tokens in %d lines", len(list), lines)
		}
		for _, one := range list {
			if !one.Role.May(who.Viewer) || one.Role > who.Admin || !who.Fit(one.Name) {
				t.Fatalf("%+v", one)
			}
		}
	})
}
