package postgres_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/headrace/headrace/broker/postgres"
)

// A queue that filled since the last ANALYZE holds, as the planner sees it, one row. The
// statements must read the rows that they are about all the same, and not the whole queue
// for each of them (which took 13 s for 256 of 120,000).
func TestStatementsReadWhatTheyAreAbout(t *testing.T) {
	s := setup(t)
	db, err := s.open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	own := schema + "_plans" // with statistics of its own
	for _, statement := range []string{`DROP SCHEMA IF EXISTS ` + own + ` CASCADE`, `CREATE SCHEMA ` + own} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := postgres.Create(t.Context(), db, own); err != nil {
		t.Fatal(err)
	}
	const length, n = 20_000, 200
	fill := `INSERT INTO ` + own + `.headrace_queue (topic, consumer_group, payload) SELECT $1, 'g', 'x' FROM generate_series(1, $2)`
	for _, do := range []struct {
		statement string
		args      []any
	}{
		{`ALTER TABLE ` + own + `.headrace_queue SET (autovacuum_enabled = false)`, nil},
		{`INSERT INTO ` + own + `.headrace_queue_groups (topic, consumer_group) VALUES ('old', 'g'), ('new', 'g')`, nil},
		{fill, []any{"old", length}},
		{`ANALYZE ` + own + `.headrace_queue`, nil},
		{fill, []any{"new", length}},
	} {
		if _, err := db.ExecContext(t.Context(), do.statement, do.args...); err != nil {
			t.Fatalf("%s: %v", do.statement, err)
		}
	}
	var ids string
	err = db.QueryRowContext(t.Context(), `SELECT array_agg(id)::text FROM (SELECT id FROM `+own+`.headrace_queue
		WHERE topic = 'new' ORDER BY id DESC LIMIT $1) last`, n).Scan(&ids)
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]any{
		"take": {"new", "g", n, 1000, 1, 0}, "ack": {"new", "g", ids}, "nack": {"new", "g", ids, 1000, 0}, "extend": {"new", "g", ids, 1000, 0},
	} {
		if read := explain(t, db, own, name, args).read(); read < n || read > 10*n {
			t.Errorf("%s of %d rows reads %.0f", name, n, read)
		}
	}
}

// plan is a node of what EXPLAIN tells.
type plan struct {
	Rows    float64 `json:"Actual Rows"`
	Loops   float64 `json:"Actual Loops"`
	Filter  float64 `json:"Rows Removed by Filter"`
	Join    float64 `json:"Rows Removed by Join Filter"`
	Recheck float64 `json:"Rows Removed by Index Recheck"`
	Plans   []plan  `json:"Plans"`
}

// read is the largest number of rows that a node looked at.
func (p plan) read() float64 {
	most := (p.Rows + p.Filter + p.Join + p.Recheck) * p.Loops
	for _, below := range p.Plans {
		most = math.Max(most, below.read())
	}
	return most
}

// explain runs a statement in a transaction that is rolled back.
func explain(t *testing.T, db *sql.DB, schema, name string, args []any) plan {
	t.Helper()
	statement, err := postgres.Statement(schema, name)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var document []byte
	if err := tx.QueryRowContext(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+statement, args...).Scan(&document); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", name, err))
	}
	var plans []struct{ Plan plan }
	if err := json.Unmarshal(document, &plans); err != nil || len(plans) != 1 {
		t.Fatalf("%s: %v: %s", name, err, document)
	}
	return plans[0].Plan
}
