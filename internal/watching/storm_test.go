package watching

import (
	"fmt"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/counting"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

// INVARIANT 19: many new groups at once are a few alerts, and end with as few.
//
//evidence:alert
func TestStorm(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 300
	}
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{PerMinute: 100})
		f := facts{now: noon.Add(time.Minute), consumer: "c"}
		for i := range n {
			f.groups = append(f.groups, failing(fmt.Sprintf("%08x", i), noon.Add(time.Duration(i)*time.Millisecond)))
		}
		if got := p.see(f); len(got) != stormGroups+1 || groupsOf(got) != int64(n) {
			t.Fatalf("%d alerts of %d groups", len(got), groupsOf(got))
		}
		if again := p.see(f); len(again) != 0 {
			t.Errorf("again: %s", said(again))
		}
		f.groups, f.now = nil, noon.Add(time.Hour)
		p.see(f)
		f.now = noon.Add(2 * time.Hour)
		if end := p.see(f); len(end) != stormGroups+1 {
			t.Errorf("then %s", said(end))
		}
	})
}

// Where groups are many, most looks read only those that may have begun to fail: the conditions of the others
// stay as they are, and a storm loses none of its groups.
//
//evidence:alert
func TestPartOfTheGroups(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{PerMinute: 100})
		f := facts{now: noon.Add(time.Minute), consumer: "c"}
		for i := range 40 {
			f.groups = append(f.groups, failing(fmt.Sprintf("%08x", i), noon.Add(time.Duration(i)*time.Second)))
		}
		if got := p.see(f); len(got) != stormGroups+1 || groupsOf(got) != 40 {
			t.Fatalf("%d alerts of %d groups", len(got), groupsOf(got))
		}
		all := f.groups
		for i := range 10 { // hours later one group is new, and one of the storm is read
			f.now, f.part = noon.Add(time.Duration(i+1)*time.Hour), true
			f.groups = []groups.Group{all[30], failing("ffffffff", noon.Add(time.Hour))}
			want := ""
			if i == 0 {
				want = "group_failing firing warning"
			}
			if got := said(p.see(f)); got != want {
				t.Errorf("look %d: %q, want %q", i, got, want)
			}
		}
		f.groups, f.part = nil, false
		p.see(f)
		f.now = f.now.Add(time.Hour)
		if end := p.see(f); len(end) != stormGroups+2 || groupsOf(end) != 41 {
			t.Errorf("then %s", said(end))
		}
	})
}

// groupsOf counts the groups of alerts.
func groupsOf(list []alerts.Alert) (n int64) {
	for _, a := range list {
		n += max(a.Groups, 1)
	}
	return n
}

// numbered are the numbers from 0 up to $1.
const numbered = `WITH RECURSIVE g (n) AS (SELECT 0 UNION ALL SELECT g.n + 1 FROM g WHERE g.n + 1 < CAST($1 AS integer)) `

// inboxStorm and letterStorm insert messages that have failed, and their letters, of $2 causes.
const inboxStorm = `INSERT INTO headrace_inbox (scope, key, state, fingerprint, changed_at) ` + numbered + `SELECT 'c/h', 'm' || CAST(g.n AS text), 'dead', 'f', $2 FROM g`

const letterStorm = `INSERT INTO headrace_dead_letters (class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint, message_id, topic,
    payload, metadata, coordinates, trace_parent, trace_state, error, error_fingerprint, chain, stack, attempts,
    first_failure, last_failure, previous_id, redrives, host, build, environment, reply_topic, created_at, changed_at) ` + numbered +
	`SELECT 'permanent', 'c', 'h', 'c/h', 'm' || CAST(g.n AS text), '', false, 'f', '', 'm' || CAST(g.n AS text), 'h',
    $3, $4, '{}', '', '', 'boom', CAST(1000000000000000 + g.n % CAST($2 AS integer) AS text), '[]', '', 1, $5, $5, 0, 0, 'host', 'v1', '', '', $5, $5 FROM g`

// A storm of failures from the letters to the sink: one look is enough, takes a short while, and no
// more than eleven alerts name all the causes.
//
//evidence:alert
func TestStormOfLetters(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{PerMinute: 100})
		failures, causes, at := 50_000, 5_000, any(time.Now())
		if _, ok := st.(*sqlite.Store); ok {
			at = time.Now().UnixMicro()
		}
		if _, ok := at.(int64); ok || testing.Short() { // one database is enough for the long one
			failures, causes = 2_000, 200
		}
		tx, err := st.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), inboxStorm, failures, at); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), letterStorm, failures, causes, []byte(`{}`), []byte(`{}`), at); err != nil {
			t.Fatal(err)
		}
		if err := st.Commit(t.Context(), tx, nil); err != nil {
			t.Fatal(err)
		}
		if err := counting.New(st).AddUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if ok, err := p.look(t.Context(), "c", true); err != nil || !ok {
			t.Fatal(ok, err)
		}
		t.Logf("a look at %d groups: %s", causes, time.Since(begin))
		if !p.many {
			t.Error("these groups are few")
		}
		for i, part := range []bool{false, true} { // all once a minute
			f := p.newFacts("c", time.Now())
			if err := p.groups(t.Context(), f); err != nil || f.part != part || len(f.groups) != min(causes, []int{causes, newGroups}[i]) {
				t.Errorf("look %d: part %t, %d groups, %v", i, f.part, len(f.groups), err)
			}
		}
		if err := p.work(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		var count int64
		for _, a := range p.told {
			count += a.Count
		}
		if len(p.told) != stormGroups+1 || groupsOf(p.told) != int64(causes) || count != int64(failures) {
			t.Errorf("%d alerts of %d groups and %d letters", len(p.told), groupsOf(p.told), count)
		}
	})
}
