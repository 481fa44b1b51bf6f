package consumertest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/retry"
)

// A right handler holds at every point at which its process can crash.
func TestCrashAtEachPoint(t *testing.T) {
	for _, p := range slices.Concat(consumertest.HandlerPoints(), consumertest.RelayPoints()) {
		t.Run(string(p), func(t *testing.T) {
			onEach(t, func(t *testing.T, db consumertest.Database) {
				k := kit(t, db, wire)
				k.CrashAt(p)
				k.Deliver(paid("1"))
				k.AppliedOnce(paid("1"), invoiced, "1")
				k.Published(consumertest.Event{Topic: "invoices.created", Key: "1", Payload: []byte(`{"total": 4200, "id": "1"}`), Metadata: map[string]string{"shop": "mill"}})
				k.Redeliver(paid("1"))
				k.AppliedOnce(paid("1"), invoiced, "1")
			})
		})
	}
}

func TestCrashOfALetter(t *testing.T) {
	for _, p := range consumertest.LetterPoints() {
		t.Run(string(p), func(t *testing.T) {
			onEach(t, func(t *testing.T, db consumertest.Database) {
				k := kit(t, db, wire)
				free := consumertest.JSON(topic, "w", order{"1", 0})
				k.CrashAt(p)
				k.Deliver(free)
				k.DeadLettered(free, dlq.Permanent, errTotal)
				k.NotPublished(consumertest.Event{Topic: "invoices.created"})
			})
		})
	}
}

// Three deliveries at once, to three processes.
func TestAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db consumertest.Database) {
		k := kit(t, db, wire)
		for _, id := range []string{"1", "2", "3"} {
			k.DeliverAtOnce(3, paid(id))
			k.AppliedOnce(paid(id), invoiced, id)
		}
		k.Deliver(paid("4"), paid("4"), paid("4"))
		k.AppliedOnce(paid("4"), invoiced, "4")
	})
}

// Failures follow the policy, and its hours take no time.
func TestFailures(t *testing.T) {
	onEach(t, func(t *testing.T, db consumertest.Database) {
		k := kit(t, db, wire)
		began := time.Now()
		k.FailAttempt(paid("1"), 1, consumertest.BeforeEffects, errTotal)
		k.FailAttempt(paid("1"), 2, consumertest.AfterEffects, errTotal)
		k.FailAttempt(paid("1"), 3, consumertest.AfterEffects, retry.After(5*time.Hour, errTotal))
		k.Deliver(paid("1"))
		k.AppliedOnce(paid("1"), invoiced, "1")
		if n := len(k.Attempts(paid("1"))); n != 3 {
			t.Errorf("%d attempts are recorded, want 3", n)
		}
		if got := k.Delays(paid("1")); !slices.Equal(got, []time.Duration{time.Minute, 5 * time.Hour}) {
			t.Errorf("delays %v", got)
		}
		for n := 1; n <= policy.MaxAttempts; n++ {
			k.FailAttempt(paid("2"), n, consumertest.BeforeEffects, errTotal)
		}
		k.Deliver(paid("2"))
		k.DeadLettered(paid("2"), dlq.Exhausted, errTotal)
		k.Redrive(paid("2"))
		k.AppliedOnce(paid("2"), invoiced, "2")
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestOtherOutcomes(t *testing.T) {
	onEach(t, func(t *testing.T, db consumertest.Database) {
		k := kit(t, db, wire)
		other := consumertest.JSON(topic, "w2", order{"1", 5})
		broken := consumertest.Message{Topic: topic, ID: "w3", Payload: []byte("{")}
		k.Deliver(paid("1"))
		k.Settle()
		k.Deliver(other, broken)
		k.DeadLettered(other, dlq.Conflict, nil)
		k.DeadLettered(broken, dlq.Undecodable, inbox.ErrMalformed)
		k.AppliedOnce(paid("1"), invoiced, "1")
	})
}

// Connections of the caller's, with either driver: names without a schema mean the test's
// in handlers and in the kit's own statements, and nothing is left behind.
func TestConnectionsOfTheCaller(t *testing.T) {
	for _, driver := range []string{"postgres", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			db := pgtest.OpenDB(t, driver, dsn(t))
			var schema string
			t.Run("test", func(t *testing.T) {
				k := kit(t, consumertest.PostgresDB(db), wire)
				schema = k.Schema()
				k.CrashAt(consumertest.BeforeCommit, consumertest.RelayPublished)
				k.FailAttempt(paid("2"), 1, consumertest.AfterEffects, errTotal)
				k.DeliverAtOnce(3, paid("1"))
				k.AppliedOnce(paid("1"), invoiced, "1")
				k.Deliver(paid("2"))
				k.AppliedOnce(paid("2"), "SELECT count(*) FROM "+schema+".invoices WHERE order_id = $1", "2")
				k.Published(consumertest.Event{Topic: "invoices.created", Key: "2"})
			})
			var left int
			if err := db.QueryRow("SELECT count(*) FROM pg_namespace WHERE nspname = $1", schema).Scan(&left); err != nil || left != 0 {
				t.Errorf("%d schemas %q are left, %v", left, schema, err)
			}
		})
	}
}
