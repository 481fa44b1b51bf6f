package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receiversFile is a file for --alerts.
func receiversFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "alerts")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReceivers(t *testing.T) {
	r, err := readReceivers(receiversFile(t, "# on call\nslack https://hooks.slack.com/services/T/B/x\n\npagerduty-eu "+strings.Repeat("k", 32)+
		"\nalertmanager https://10.0.0.7 http://10.0.0.8:9093\nallow 10.0.0.0/8\nwebhook https://ops.example.com/hook "+webhookSecret+" "+webhookSecret+
		"\nheartbeat https://hc.example.com/x\npages https://headrace.example.com\n"))
	var names []string
	for _, s := range r.Sinks {
		names = append(names, s.Name())
	}
	if got := strings.Join(names, " "); err != nil || got != "slack pagerduty alertmanager webhook" || len(r.pulses) != 1 || r.URL != "https://headrace.example.com" {
		t.Errorf("%s, %+v, %v", got, r, err)
	}
	r, err = readReceivers(receiversFile(t, "slack name=on-call_1 https://a.example.com/x\nslack name=ops https://b.example.com/x\nslack https://c.example.com/x\nheartbeat name=hc https://c.example.com/x\nheartbeat https://d.example.com/x\n"))
	names = nil
	for _, s := range r.Sinks {
		names = append(names, s.Name())
	}
	if got := strings.Join(names, " "); err != nil || got != "on-call_1 ops slack" || len(r.pulses) != 2 || r.pulses[0].name != "hc" || r.pulses[1].name != "heartbeat" {
		t.Errorf("%s, %+v, %v", got, r, err)
	}
	for text, want := range map[string]string{
		"slack https://a.example.com/x\npagerduty " + strings.Repeat("k", 32) + "\npagerduty-eu " + strings.Repeat("c", 32): "line 3: it cannot be told apart from line 2: name one of them, as in pagerduty-eu name=ops",
		"heartbeat https://a.example.com/canary\nheartbeat https://b.example.com/canary":                                    "line 2: it cannot be told apart from line 1: name one of them",
		"slack name=ops https://a.example.com/canary\nwebhook name=ops https://b.example.com/canary " + webhookSecret:       "line 2: it cannot be told apart from line 1",
		"slack name=webhook https://a.example.com/canary\nwebhook https://b.example.com/canary " + webhookSecret:            "line 2: it cannot be told apart from line 1",
		"slack name=a/canary https://a.example.com/canary":                                                                  "line 1: a name has 1 to 40",
		"slack name= https://a.example.com/canary":                                                                          "line 1: a name has 1 to 40",
		"slack name=" + strings.Repeat("n", 41) + " https://a.example.com/canary":                                           "line 1: a name has 1 to 40",
		"pages name=x https://a.example.com/canary":                                                                         "line 1: it is not one of",
		"slack name=ops":                     "line 1: it is not one of",
		"slack https://10.0.0.7/canary":      "line 1: ",
		"\nslack http://canary.example.com":  "line 2: ",
		"webhook https://canary.example.com": "line 1: it is not one of slack URL",
		"pager canary":                       "line 1: it is not one of",
		"allow canary":                       "line 1: no network",
		"allow 10.0.0.0/8 canary":            "line 1: it is not one of",
		"slack https://a.example.com/canary\nslack https://b.example.com/canary": "line 2: it cannot be told apart from line 1: name one of them, as in slack name=ops",
		"pages canary": "URL is not an address",
		"":             "has no receiver",
		"# slack https://canary.example.com\nallow 10.0.0.0/8\npages https://canary.example.com": "has no receiver",
	} {
		if _, err := readReceivers(receiversFile(t, text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The only consumer of a database is killed, and comes back: the pages' command tells of both.
//
//evidence:alert
func TestUITellsOfAnAbsentConsumer(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		absent(t, st, st)
	})
	t.Run("postgres", func(t *testing.T) {
		l := newLogins(t)
		absent(t, l.store("consumer"), l.store("operator"))
	})
}

// absent has a process of a consumer end, and another one start; ui is the store of the pages.
func absent(t *testing.T, st, ui store.Store) {
	type body struct {
		Status, Type string
		Labels       map[string]string
	}
	told := make(chan body, 9)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var b body
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			t.Error(err)
		}
		told <- b
	}))
	defer receiver.Close()
	r, err := readReceivers(receiversFile(t, "allow 127.0.0.0/8\nwebhook "+receiver.URL+" "+webhookSecret))
	if err != nil {
		t.Fatal(err)
	}
	r.Quiet, r.Bounds.Absent = 50*time.Millisecond, 500*time.Millisecond
	instances := st.Operations().Instances
	start := func(id string) {
		if err := instances.Start(t.Context(), instance.Instance{ID: id, Consumer: "billing", Host: "pod-1", Build: "v1"}); err != nil {
			t.Fatal(err)
		}
	}
	start("killed")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.watch(ctx, ui, "production", slog.New(slog.NewTextHandler(t.Output(), nil)))
	}()
	defer func() { stop(); <-ended }()
	if b := <-told; b.Status != "firing" || b.Type != "headrace.consumer_absent" || b.Labels["consumer"] != "billing" || b.Labels["environment"] != "production" {
		t.Fatalf("%+v", b)
	}
	start("back")
	beat := time.NewTicker(50 * time.Millisecond)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			if err := instances.Beat(t.Context(), "back", instance.Work{}); err != nil {
				t.Fatal(err)
			}
		case b := <-told:
			if b.Status != "resolved" || b.Type != "headrace.consumer_absent" {
				t.Errorf("%+v", b)
			}
			return
		}
	}
}
