package watching

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/sinks"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
)

// A real Alertmanager is told again every 20 minutes of what fires, until it is resolved, and no more
// than that.
//
//evidence:alert
func TestRepeatedToAlertmanager(t *testing.T) {
	url := os.Getenv("HEADRACE_TEST_ALERTMANAGER")
	if url == "" && os.Getenv("CI") != "true" {
		t.Skip("HEADRACE_TEST_ALERTMANAGER is not set")
	}
	sink, err := sinks.Alertmanager([]string{url}, sinks.Options{Plain: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := &process{t: t}
		all := alerting.NewSinks("c", alerts.Options{Sinks: []alerts.Sink{sink}}, slog.New(slog.DiscardHandler), nil)
		defer func() { _ = all.Close(t.Context()) }()
		p.watch(st, "p", "", alerts.Options{PerMinute: 1}, slices.Collect(maps.Values(all.Callers))[0])
		bad := facts{now: noon, consumer: "c", steps: map[ledger.State]int64{ledger.Parked: 1}}
		p.see(bad)
		list, err := p.store().List(t.Context(), "c", false)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		updated := func() (at time.Time) {
			t.Helper()
			response, err := http.Get(url + "/api/v2/alerts?filter=key=" + list[0].Key[:16]) //nolint:noctx // a test
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			var held []struct{ UpdatedAt time.Time }
			body, err := io.ReadAll(response.Body)
			if err := errors.Join(err, json.Unmarshal(body, &held)); err != nil || len(held) > 1 {
				t.Fatalf("%v: %s", err, body)
			}
			for _, h := range held {
				at = h.UpdatedAt
			}
			return at
		}
		first := updated()
		p.send("c", noon.Add(19*time.Minute))
		if first.IsZero() || !updated().Equal(first) {
			t.Errorf("after 19 minutes: %s, before %s", updated(), first)
		}
		for i := 1; i <= 2; i++ {
			p.send("c", noon.Add(time.Duration(21*i)*time.Minute))
			if now := updated(); !now.After(first) {
				t.Errorf("after %d minutes: %s, before %s", 21*i, now, first)
			} else {
				first = now
			}
		}
		p.see(facts{now: noon.Add(43 * time.Minute), consumer: "c"})
		p.see(facts{now: noon.Add(49 * time.Minute), consumer: "c"})
		if now := updated(); !now.IsZero() {
			t.Errorf("it fires still: %s", now)
		}
		p.send("c", noon.Add(2*time.Hour))
	})
}
