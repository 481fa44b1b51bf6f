package sinks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/sinks"
)

var update = flag.Bool("update", false, "write the golden files")

const routingKey = "0123456789abcdef0123456789abcdef"

// plain are options for a receiver on this machine.
var plain = sinks.Options{Plain: true, Allow: loopback}

// incident is a condition; its handler's name tries to call a channel.
var incident = alerts.Alert{
	ID: "a1-1", Key: strings.Repeat("7f3a", 16), Kind: alerts.GroupFailing, Phase: alerts.Firing, Severity: alerts.Warning,
	Consumer: "billing", Handler: "orders<!channel>", Environment: "prod", Database: "db1/shop", Schema: "public", Build: "v2",
	Class: "permanent", ErrorFingerprint: "7f3a", LetterID: 7, Title: "billing: orders fails & <b>more</b>", Text: "3 messages of orders fail since build v2.",
	Error: "no customer # ```", Command: "headrace dlq why 7f3a", Links: []alerts.Link{{Name: "Group", URL: "https://ops.example.com/g/7f3a?a=1|2"}},
	Count: 3, Groups: 1, Since: time.Unix(1000, 0), At: time.Unix(1060, 0),
}

// with changes an alert.
func with(a alerts.Alert, change func(a *alerts.Alert)) alerts.Alert { change(&a); return a }

// resolved is the end of incident, after its severity rose.
var resolved = with(incident, func(a *alerts.Alert) {
	a.ID, a.Phase, a.Severity, a.Title = "a1-3", alerts.Resolved, alerts.Error, "Resolved: "+a.Title
	a.Text = a.Title + "."
})

// sent returns what a sink posts for an alert.
func sent(t *testing.T, make func(url string) (alerts.Sink, error), a alerts.Alert) (bodies [][]byte, header http.Header) {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies, header = append(bodies, body), r.Header
	}))
	defer server.Close()
	sink, err := make(server.URL)
	if err == nil {
		err = sink.Send(t.Context(), a)
	}
	if err != nil {
		t.Fatal(err)
	}
	if w, ok := sink.(interface{ Wants(a alerts.Alert) bool }); !ok || w.Wants(a) != (len(bodies) > 0) {
		t.Errorf("%T does not say what it sends", sink)
	}
	return bodies, header
}

var makers = map[string]func(url string) (alerts.Sink, error){
	"slack":        func(url string) (alerts.Sink, error) { return sinks.Slack(url+"/services/T/B/canary", plain) },
	"pagerduty":    func(url string) (alerts.Sink, error) { return sinks.PagerDuty(url, routingKey, plain) },
	"webhook":      func(url string) (alerts.Sink, error) { return sinks.WebhookV2(url, []string{whsec}, plain) },
	"alertmanager": func(url string) (alerts.Sink, error) { return sinks.Alertmanager([]string{url + "/canary"}, plain) },
}

// clock is what depends on when an alert is posted to Alertmanager.
var clock = regexp.MustCompile(`"endsAt": "[^"]+"`)

// The bodies are those of the golden files: go test ./alerts/sinks -update writes them.
func TestBodies(t *testing.T) {
	for name, maker := range makers {
		for phase, a := range map[string]alerts.Alert{"firing": incident, "resolved": resolved} {
			bodies, _ := sent(t, maker, a)
			var out bytes.Buffer
			if len(bodies) != 1 || json.Indent(&out, bodies[0], "", " ") != nil {
				t.Fatalf("%s: %q", name, bodies)
			}
			out.WriteByte('\n')
			body := clock.ReplaceAll(out.Bytes(), []byte(`"endsAt": "…"`))
			for _, fact := range []string{"prod", "db1/shop", "public", "billing", "v2", "headrace dlq why 7f3a", "https://ops.example.com/g/7f3a?a=1"} {
				if phase == "firing" && !bytes.Contains(body, []byte(fact)) {
					t.Errorf("%s does not say %s", name, fact)
				}
			}
			file := filepath.Join("testdata", name+"_"+phase+".json")
			if *update {
				if err := os.WriteFile(file, body, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || !bytes.Equal(want, body) {
				t.Errorf("%s, %v:\n%s", file, err, body)
			}
		}
	}
}

// long has more text in each field than a receiver takes, all of it special.
var long = with(incident, func(a *alerts.Alert) {
	for _, field := range []*string{&a.Key, &a.Consumer, &a.Handler, &a.Topic, &a.Environment, &a.Build, &a.ErrorFingerprint, &a.Title, &a.Text, &a.Error, &a.Command} {
		*field = strings.Repeat("<&é\xff", 2000)
	}
})

// Slack's bounds: 150 characters for a header, 3,000 for a section, ten fields of 2,000; and of
// what others have named nothing is markup.
func TestSlackBounds(t *testing.T) {
	for _, a := range []alerts.Alert{incident, resolved, long, {Kind: alerts.Paused, Text: "<!here> @channel"}} {
		bodies, _ := sent(t, makers["slack"], a)
		var m struct {
			Text   string
			Blocks []struct {
				Type   string
				Text   struct{ Type, Text string }
				Fields []struct{ Type, Text string }
			}
		}
		if err := json.Unmarshal(bodies[0], &m); err != nil || m.Text == "" || len(m.Blocks) > 50 {
			t.Fatalf("%s, %v", bodies[0], err)
		}
		whole := m.Text
		for _, b := range m.Blocks {
			bound := 3000
			if b.Type == "header" {
				bound = 150
			}
			if utf8.RuneCountInString(b.Text.Text) > bound || len(b.Fields) > 10 || b.Text.Text == "" && len(b.Fields) == 0 {
				t.Errorf("%s of %d characters and %d fields", b.Type, utf8.RuneCountInString(b.Text.Text), len(b.Fields))
			}
			whole += b.Text.Text
			for _, f := range b.Fields {
				if utf8.RuneCountInString(f.Text) > 2000 {
					t.Errorf("a field of %d characters", utf8.RuneCountInString(f.Text))
				}
				whole += f.Text
			}
		}
		if strings.Contains(strings.ReplaceAll(whole, "<https://ops.example.com/", ""), "<") {
			t.Errorf("markup of others: %s", whole)
		}
	}
}

// PagerDuty's bounds: 1,024 characters for a summary and 255 for a key; and what an event must have.
func TestPagerDutyBounds(t *testing.T) {
	for _, a := range []alerts.Alert{incident, resolved, long, {Kind: alerts.HandlerStuck, Text: "stuck"}} {
		bodies, _ := sent(t, makers["pagerduty"], a)
		var e struct {
			RoutingKey  string `json:"routing_key"`
			EventAction string `json:"event_action"`
			DedupKey    string `json:"dedup_key"`
			Payload     *struct {
				Summary, Source, Severity string
				Timestamp                 time.Time
			}
		}
		if err := json.Unmarshal(bodies[0], &e); err != nil || e.RoutingKey != routingKey || e.DedupKey == "" || len(e.DedupKey) > 255 {
			t.Fatalf("a key of %d bytes, %v", len(e.DedupKey), err)
		}
		if a.Phase == alerts.Resolved {
			if e.EventAction != "resolve" || e.DedupKey != incident.Key {
				t.Errorf("%+v", e)
			}
			continue
		}
		if p := e.Payload; e.EventAction != "trigger" || p == nil || p.Summary == "" || len(p.Summary) > 1024 || p.Source == "" || p.Severity != "warning" {
			t.Errorf("%+v, %+v", e, e.Payload)
		}
	}
}

// Version 2 has two signatures while a secret changes, and more headers; that of the sink itself
// stays.
func TestWebhookRotates(t *testing.T) {
	const next = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	o := plain
	o.Header = http.Header{"authorization": {"Bearer canary"}, "webhook-id": {"forged"}}
	_, header := sent(t, func(url string) (alerts.Sink, error) { return sinks.WebhookV2(url, []string{next, whsec}, o) }, incident)
	signatures := strings.Fields(header.Get("Webhook-Signature"))
	if len(signatures) != 2 || signatures[0] == signatures[1] || !strings.HasPrefix(signatures[1], "v1,") {
		t.Errorf("signatures %q", signatures)
	}
	if header.Get("Authorization") != "Bearer canary" || header.Get("Webhook-Id") != incident.ID {
		t.Errorf("headers %v", header)
	}
	for _, secrets := range [][]string{nil, {whsec, next, whsec}, {whsec, "canary"}} {
		if _, err := sinks.WebhookV2("https://example.com", secrets, plain); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%d secrets: %v", len(secrets), err)
		}
	}
}

// What matters less is not sent, but for the end of an incident to those that keep them; and an
// incident of PagerDuty is not opened by good news.
func TestLeast(t *testing.T) {
	o := plain
	o.Least = alerts.Error
	for name, want := range map[string]int{"slack": 0, "pagerduty": 1} {
		got := 0
		for _, a := range []alerts.Alert{incident, with(resolved, func(a *alerts.Alert) { a.Severity = alerts.Warning }), {Kind: alerts.Resumed, Severity: alerts.Info}} {
			bodies, _ := sent(t, func(url string) (alerts.Sink, error) {
				if name == "slack" {
					return sinks.Slack(url, o)
				}
				return sinks.PagerDuty(url, routingKey, o)
			}, a)
			got += len(bodies)
		}
		if got != want {
			t.Errorf("%s got %d, want %d", name, got, want)
		}
	}
	if bodies, _ := sent(t, makers["pagerduty"], alerts.Alert{Kind: alerts.Resumed, Severity: alerts.Critical}); len(bodies) > 0 {
		t.Errorf("%s", bodies)
	}
}

// Retry-After, what is of no use, and secrets in no error.
func TestSinksFail(t *testing.T) {
	status, after := http.StatusTooManyRequests, "7"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", after)
		http.Error(w, "canary", status)
	}))
	defer server.Close()
	for name, maker := range makers {
		for _, c := range []struct {
			status  int
			wait    time.Duration
			refused bool
		}{{http.StatusTooManyRequests, 7 * time.Second, false}, {http.StatusBadRequest, 0, true}, {http.StatusForbidden, 0, false}, {http.StatusInternalServerError, 0, false}} {
			status = c.status
			sink, err := maker(server.URL + "/canary")
			if err != nil {
				t.Fatal(err)
			}
			err = sink.Send(t.Context(), incident)
			e, ok := errors.AsType[*alerts.SendError](err)
			if !ok || e.Status != c.status || e.RetryAfter != c.wait || e.Refused != c.refused || !strings.HasPrefix(e.Reason, name+": ") {
				t.Errorf("%s, %d: %+v", name, c.status, e)
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), routingKey) {
				t.Error(err)
			}
		}
		if _, err := maker("http://10.0.0.1/canary"); !errors.Is(err, sinks.ErrAddress) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: a private address: %v", name, err)
		}
	}
	if _, err := sinks.PagerDuty(sinks.PagerDutyEU, "canary", sinks.Options{}); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a routing key that is none: %v", err)
	}
}

// A sink's address is the same from start to start, shows nothing, and tells apart what goes elsewhere
// or is less.
func TestAddress(t *testing.T) {
	const url = "http://127.0.0.1:1/canary"
	seen := make(map[string]string)
	add := func(name string, sink alerts.Sink, err error) {
		t.Helper()
		at, ok := sink.(alerts.Addressed)
		if err != nil || !ok || len(at.Address()) != 8 || sink.Name() == "" {
			t.Fatalf("%s: %v, %v", name, sink, err)
		}
		if before := seen[at.Address()]; before != "" {
			t.Errorf("%s has the address of %s", name, before)
		}
		seen[at.Address()] = name
	}
	less, tenant := plain, plain
	less.Least, tenant.Header = alerts.Critical, http.Header{"X-Tenant": {"a"}}
	for name, o := range map[string]sinks.Options{"": plain, " with less": less, " of a tenant": tenant} {
		slack, err := sinks.Slack(url, o)
		add("slack"+name, slack, err)
		pager, err := sinks.PagerDuty(url, routingKey, o)
		add("pagerduty"+name, pager, err)
	}
	other, err := sinks.PagerDuty(url, strings.Repeat("k", 32), plain)
	add("another service", other, err)
	one, err := sinks.Alertmanager([]string{url}, plain)
	add("alertmanager", one, err)
	both, err := sinks.Alertmanager([]string{url, url + "2"}, plain)
	add("two alertmanagers", both, err)
	hook, err := sinks.WebhookV2(url+"/hook", []string{whsec}, plain)
	add("webhook", hook, err)
	rotated, err := sinks.WebhookV2(url+"/hook", []string{"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", whsec}, plain)
	if err != nil || rotated.(alerts.Addressed).Address() != hook.(alerts.Addressed).Address() {
		t.Errorf("the address of a webhook changes with its secret, %v", err)
	}
}
