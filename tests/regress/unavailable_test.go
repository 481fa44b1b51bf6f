package regress

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/pgtest"
)

// outage is a reason why a store answers and cannot write.
type outage struct {
	// says is a part of the error.
	says       string
	begin, end func()
	// bytes is how large a row of the handler has to be to fail.
	bytes int
}

// survivesOutage begins the outage while a handler runs, and checks the rule: if the store
// answers and cannot write, no message has failed. They wait, no attempt is spent, Ready
// says why, and all are applied when the outage is over.
//
// Without that the handler whose statement failed first was blamed for it: its message
// lost its attempts and became a dead letter.
func survivesOutage(f *fixture, w way, o outage) {
	const n = 10
	var once sync.Once
	begun := make(chan struct{})
	filler := make([]byte, o.bytes/2)
	_, _ = rand.Read(filler)
	c := f.consumer(f.st, f.configOf(w))
	p, all := together(f, c, w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		once.Do(func() { o.begin(); close(begun) })
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg, n, tenant) VALUES ($1, $2, $3)", m.ID, m.Body.N, hex.EncodeToString(filler))
		return err
	})
	defer once.Do(func() {}) // no outage begins after the test
	f.await("a handler runs", begun)
	ended := sync.OnceFunc(o.end)
	defer ended()
	said := func() bool { err := p.Ready(); return err != nil && strings.Contains(err.Error(), o.says) }
	if !f.comes(bound, said) {
		f.Errorf("Ready says %v; want %q", p.Ready(), o.says)
	}
	looks, away := 0, 0
	f.comes(time.Second, func() bool {
		looks++
		if p.Ready() != nil {
			away++
		}
		return len(f.letters()) > 0
	})
	if away*2 < looks { // a small commit that was under way may still succeed, and Ready is nil until the next one fails
		f.Errorf("Ready is nil in %d of %d looks during the outage", looks-away, looks)
	}
	f.noLetters()
	ended()
	f.acked(all...)
	f.appliedOnce(series("m", n)...)
	f.noLetters()
	f.eventually("ready again", func() bool { return p.Ready() == nil })
}

// refuseWrites returns an outage in which triggers on all tables raise an error.
func refuseWrites(f *fixture, code string) outage {
	f.Helper()
	f.exec("CREATE TABLE refusals (code TEXT NOT NULL)")
	f.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
		DECLARE refusal text;
		BEGIN
			SELECT code INTO refusal FROM refusals;
			IF found THEN
				RAISE EXCEPTION USING ERRCODE = refusal, MESSAGE = 'no row can be written';
			END IF;
			RETURN NULL;
		END $$`)
	f.exec(`DO $$ DECLARE name text; BEGIN
		FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'refusals' LOOP
			EXECUTE format('CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse()', name);
		END LOOP; END $$`)
	return outage{
		says:  "no row can be written",
		begin: func() { f.exec("INSERT INTO refusals VALUES ($1)", code) },
		end:   func() { f.exec("DELETE FROM refusals") },
		bytes: 10,
	}
}

// The rule of survivesOutage, for each error that says that the server cannot serve.
//
//evidence:cannot-serve
func TestServerCannotServe(t *testing.T) {
	t.Parallel()
	for what, code := range map[string]string{"disk full": "53100", "out of memory": "53200", "read only": "25006", "starting up": "57P03"} {
		t.Run(what, func(t *testing.T) {
			onEachWay(t, onPostgres, everyWay, func(f *fixture, w way) { survivesOutage(f, w, refuseWrites(f, code)) })
		})
	}
}

// The rule of survivesOutage, for a database that becomes read-only as at a failover: its
// sessions end, and new ones can only read. With lib/pq nothing would fail: it says READ
// WRITE with each BEGIN, which overrules the setting.
//
//evidence:cannot-serve
func TestDatabaseBecomesReadOnly(t *testing.T) {
	t.Parallel()
	for _, w := range everyWay {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.NewDatabase(t)
			f := newPostgres(t, pgx, dsn, "public")
			database := databaseOf(t, dsn)
			admin := pgtest.Open(t)
			alter := func(change string) {
				if _, err := admin.Exec(fmt.Sprintf("ALTER DATABASE %s %s", database, change)); err != nil {
					t.Error(err)
				}
				if _, err := admin.Exec("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1", database); err != nil {
					t.Error(err)
				}
				f.db.SetMaxIdleConns(0) // the test must not be given a terminated one
				f.db.SetMaxIdleConns(pgtest.MaxOpenConns)
			}
			survivesOutage(f, w, outage{
				says:  "", // the end of its sessions, or that it is read-only
				begin: func() { alter("SET default_transaction_read_only = on") },
				end:   func() { alter("RESET default_transaction_read_only") },
				bytes: 10,
			})
		})
	}
}

// A handler that raises such an error by itself, while the store can write, has failed: it
// spends its attempts and becomes a dead letter, and its neighbours are applied.
//
//evidence:only-says-so
func TestHandlerSaysThatTheServerCannotServe(t *testing.T) {
	t.Parallel()
	raise := func(code string) string {
		return "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '" + code + "', MESSAGE = 'the handler says so'; END $$"
	}
	for what, query := range map[string]string{
		"disk full":     raise("53100"),
		"out of memory": raise("53200"),
		"read only":     raise("25006"),
		"starting up":   raise("57P03"),
		// A disk that is always full, and has no table of ours.
		"another disk is full": "COPY (SELECT repeat('x', 100000)) TO '/dev/full'",
	} {
		t.Run(what, func(t *testing.T) {
			onEachWay(t, onPostgres, everyWay, func(f *fixture, w way) {
				const culprit, n = "m3", 10
				var seen runs
				config := f.configOf(w)
				config.Retry = attempts(3)
				_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					seen.next(m.ID)
					if err := insert(ctx, tx, m); err != nil || m.ID != culprit {
						return err
					}
					_, err := tx.ExecContext(ctx, query)
					return err
				})
				f.acked(all...)
				f.appliedOnce(neighbours(n, culprit)...)
				f.deadAfter(culprit, &seen, 3)
			})
		})
	}
}
