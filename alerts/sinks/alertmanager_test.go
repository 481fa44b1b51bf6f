package sinks_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/sinks"
	"github.com/headrace/headrace/broker/brokertest"
)

// held is an alert that Alertmanager has.
type held struct {
	Labels, Annotations map[string]string
	StartsAt, EndsAt    time.Time
}

// all returns the alerts of a key that a real Alertmanager holds and that fire, by severity.
func all(t *testing.T, url, key string) map[string]held {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v2/alerts?filter=key="+key, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	var list []held
	if err := errors.Join(err, json.Unmarshal(body, &list)); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	found := make(map[string]held)
	for _, a := range list {
		found[a.Labels["severity"]] = a
	}
	return found
}

// An incident fires in a real Alertmanager for a day, rises, and is resolved: also one whose severity
// rose before.
func TestAlertmanager(t *testing.T) {
	url := brokertest.Variable(t, "HEADRACE_TEST_ALERTMANAGER", "alertmanager")
	sink, err := sinks.Alertmanager([]string{url}, plain)
	if err != nil {
		t.Fatal(err)
	}
	a := incident
	a.Key, a.Since = rand.Text()[:16], time.Now().Add(-time.Minute)
	send := func(change func(a *alerts.Alert)) map[string]held {
		t.Helper()
		change(&a)
		if err := sink.Send(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		return all(t, url, a.Key)
	}
	fires := func(list map[string]held, severity string) {
		t.Helper()
		h, ok := list[severity]
		if left := time.Until(h.EndsAt); !ok || len(list) != 1 || left < 23*time.Hour || left > 25*time.Hour {
			t.Fatalf("%s: %+v", severity, list)
		}
		if h.Labels["alertname"] != "HeadraceGroupFailing" || h.Labels["handler"] != a.Handler || h.Labels["build"] != "" || h.Annotations["build"] != a.Build {
			t.Errorf("%+v", h)
		}
	}
	fires(send(func(*alerts.Alert) {}), "warning")
	fires(send(func(*alerts.Alert) {}), "warning") // repeated
	fires(send(func(a *alerts.Alert) { a.Phase, a.Severity, a.Build = alerts.Again, alerts.Error, "v3" }), "error")
	if list := send(func(a *alerts.Alert) { a.Phase = alerts.Resolved }); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	if every := sink.(alerts.Repeated).Every(); every != 20*time.Minute {
		t.Errorf("every %s", every)
	}
}

// Each Alertmanager gets an alert, also when one fails; then the worst answer counts.
func TestAlertmanagers(t *testing.T) {
	var mu sync.Mutex
	got := make(map[string]int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path]++
		switch r.URL.Path {
		case "/bad/api/v2/alerts":
			w.WriteHeader(http.StatusBadRequest)
		case "/busy/api/v2/alerts":
			w.Header().Set("Retry-After", "9")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	sink, err := sinks.Alertmanager([]string{server.URL + "/bad", server.URL + "/busy/", server.URL}, plain)
	if err != nil {
		t.Fatal(err)
	}
	err = sink.Send(t.Context(), incident)
	if e, ok := errors.AsType[*alerts.SendError](err); !ok || e.Refused || e.RetryAfter != 9*time.Second || len(got) != 3 {
		t.Errorf("%+v, %v", err, got)
	}
	if _, err := sinks.Alertmanager(nil, plain); err == nil {
		t.Error("no URL was taken")
	}
}
