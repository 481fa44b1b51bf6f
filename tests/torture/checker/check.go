package checker

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the checker's own database

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/tests/torture/history"
	"github.com/headrace/headrace/tests/torture/workload"
)

//go:embed load/*.sql rules/*.sql export/*.sql sqlite/*.sql postgres/*.sql
var files embed.FS

func statements(dir string) map[string]string {
	q, err := sqlfile.Load(files, dir, "")
	if err != nil {
		panic(err) // they are part of the program
	}
	return q
}

var loads, rules, exports = statements("load"), statements("rules"), statements("export")

// System is what is under test.
type System struct {
	// Kind is sqlite or postgres.
	Kind  string
	DB    *sql.DB
	Store store.Store
}

// Run says what the rules have to know.
type Run struct {
	// Ordered says that the source kept the order of its keys.
	Ordered bool
	// Blameless says that no fault could look like a handler's failure.
	Blameless bool
	// Pruned says that a prune came to its end.
	Pruned bool
}

// Finding is a rule with what broke it.
type Finding struct {
	Rule     string   `json:"rule"`
	Says     string   `json:"says"`
	Count    int      `json:"count"`
	Examples []string `json:"examples,omitempty"`
}

// Rules returns the names of all rules.
func Rules() []string { return slices.Sorted(maps.Keys(rules)) }

// Check returns what is broken.
func Check(ctx context.Context, entries []history.Entry, s System, r Run) ([]Finding, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, loads["schema"]); err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	l := &loader{ctx: ctx, tx: tx}
	l.run(r)
	l.history(entries)
	l.system(s)
	if l.err != nil {
		return nil, fmt.Errorf("load: %w", l.err)
	}
	var found []Finding
	for _, name := range Rules() {
		f, err := ask(ctx, tx, name)
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", name, err)
		}
		if f.Count > 0 {
			found = append(found, f)
		}
	}
	own, err := tables(ctx, s.Store)
	return append(found, own...), err
}

func ask(ctx context.Context, tx *sql.Tx, name string) (Finding, error) {
	f := Finding{Rule: name, Says: sqlfile.Says(rules[name])}
	rows, err := tx.QueryContext(ctx, rules[name])
	if err != nil {
		return f, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var example string
		if err := rows.Scan(&example); err != nil {
			return f, err
		}
		if f.Count++; f.Count <= 5 {
			f.Examples = append(f.Examples, example)
		}
	}
	return f, rows.Err()
}

// tables asks headrace's own check.
func tables(ctx context.Context, st store.Store) (found []Finding, err error) {
	report, err := st.(store.Checker).Check(ctx)
	for _, r := range report.Rules {
		if r.Violations > 0 {
			found = append(found, Finding{Rule: "store check: " + r.Name, Says: r.Says, Count: int(r.Violations), Examples: []string{r.Example}})
		}
	}
	return found, err
}

// loader fills the checker's database; it keeps the first error.
type loader struct {
	ctx context.Context
	tx  *sql.Tx
	err error
}

func (l *loader) put(table string, args ...any) {
	if l.err == nil {
		if _, err := l.tx.ExecContext(l.ctx, loads[table], args...); err != nil {
			l.err = fmt.Errorf("%s: %w", table, err)
		}
	}
}

func (l *loader) run(r Run) {
	for name, on := range map[string]bool{"ordered": r.Ordered, "blameless": r.Blameless, "pruned": r.Pruned} {
		value := 0
		if on {
			value = 1
		}
		l.put("run", name, value)
	}
	l.put("run", "events", workload.Events)
	l.put("run", "max_attempts", workload.MaxAttempts)
	l.put("run", "backoff_us", int64(float64(workload.FirstDelay.Microseconds())*(1-workload.Jitter)))
}

func (l *loader) history(entries []history.Entry) {
	for _, e := range entries {
		switch e.Op {
		case history.Invoke:
			l.put("sent", e.ID, e.Topic, e.Key, e.N, e.Kind, e.Amount, e.Sum, "info")
		case history.OK, history.Info, history.Fail:
			l.put("outcome", e.ID, string(e.Op))
		case history.Ack:
			l.put("acked", e.ID)
		case history.Expired:
			l.put("expired", e.ID)
		case history.Aged:
			l.put("aged", e.ID)
		case history.Published:
			l.put("downstream", e.N, e.ID, e.Topic, e.Cause, e.Sum)
		}
	}
}

func (l *loader) system(s System) {
	for _, table := range []string{"effects", "emitted", "inbox", "audit", "outbox", "backlog"} {
		l.copy(s.DB, exports[table], func(row []any) { l.put(table, row...) })
	}
	l.copy(s.DB, statements(s.Kind)["attempts"], func(row []any) { l.put("attempts", row...) })
	l.copy(s.DB, exports["lists"], func(row []any) {
		for i, id := range strings.Fields(row[1].(string)) {
			l.put("items", row[0], i, id)
		}
	})
	l.letters(s.Store)
}

func (l *loader) copy(db *sql.DB, query string, put func([]any)) {
	if l.err != nil {
		return
	}
	rows, err := db.QueryContext(l.ctx, query)
	if err != nil {
		l.err = fmt.Errorf("%s: %w", query, err)
		return
	}
	defer func() { _ = rows.Close() }()
	columns, _ := rows.Columns()
	for rows.Next() && l.err == nil {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if l.err = rows.Scan(into...); l.err != nil {
			return
		}
		for i := range row { // lib/pq gives text as bytes where it is asked for any
			if b, ok := row[i].([]byte); ok {
				row[i] = string(b)
			}
		}
		put(row)
	}
	if l.err == nil {
		l.err = rows.Err()
	}
}

func (l *loader) letters(st store.Store) {
	before := int64(0)
	for l.err == nil {
		page, err := st.Letters().List(l.ctx, dlq.Filter{AnyState: true}, before, 500)
		if err != nil || len(page) == 0 {
			l.err = err
			return
		}
		for _, short := range page {
			before = short.LetterID
			w, err := st.Letters().Get(l.ctx, short.LetterID)
			if err != nil {
				l.err = err
				return
			}
			l.put("letters", w.LetterID, string(w.State), string(w.Class), w.Delivery.Key, w.Attempts,
				workload.Sum(w.Delivery.Payload, w.Delivery.Metadata), w.Delivery.Coordinates.String(), w.FirstFailure.UnixMicro(), w.LastFailure.UnixMicro())
		}
	}
}
