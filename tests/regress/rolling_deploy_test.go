package regress

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
)

// release is how a version of the service registers its handler of topic.
type release struct {
	strict bool
	handle func(c *consumer.Consumer, f consumer.Func[body])
}

// The releases before a deploy, which keep the order of a key, and after it.
var (
	strictRelease  = release{strict: true, handle: inBatch.handle}
	leasedRelease  = release{handle: leased.handle}
	currentRelease = release{handle: inBatch.handle}
)

// onEachDeploy runs f for each deploy that ends strict order.
func onEachDeploy(t *testing.T, on func(*testing.T, func(*fixture)), f func(fx *fixture, old release)) {
	for how, old := range map[string]release{"Strict is turned off": strictRelease, "HandleLeased becomes Handle": leasedRelease} {
		t.Run(how, func(t *testing.T) {
			on(t, func(fx *fixture) { f(fx, old) })
		})
	}
}

// runRelease runs a version of the service on a store and a source of its own.
func runRelease(f *fixture, r release, handler consumer.Func[body]) (*process, *memsource.Source) {
	f.Helper()
	config := f.config()
	config.Source, config.Strict = memsource.New(), r.strict
	config.Retry = retry.Policy{MaxAttempts: 1000, Backoff: retry.Backoff{Initial: 200 * time.Millisecond, Max: 200 * time.Millisecond, Factor: 1}}
	c := f.consumer(f.open(), config)
	r.handle(c, handler)
	p := f.start(c)
	f.eventually("ready", func() bool { return p.Ready() == nil })
	return p, config.Source.(*memsource.Source)
}

// A deploy may end strict order while messages wait: m1 for its retry, m2 and m3 behind
// it. The new version applies all of them.
//
//evidence:strict-off
func TestDeployWithoutStrictOrder(t *testing.T) {
	t.Parallel()
	onEachDeploy(t, onEachStore, func(f *fixture, old release) {
		var broken atomic.Bool
		broken.Store(true)
		handler := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.ID == "m1" && broken.Load() {
				return errBoom
			}
			return insert(ctx, tx, m)
		}
		before, source := runRelease(f, old, handler)
		deliver := func(source *memsource.Source, id string) *message.Message {
			return source.Deliver(topic, id, []byte(`{}`), map[string]string{orderKey: "key"})
		}
		f.acked(deliver(source, "m1"))
		f.eventually("m1 has failed", func() bool { return len(f.attempts("m1")) > 0 })
		f.acked(deliver(source, "m2"), deliver(source, "m3"))
		if n := f.count("SELECT count(*) FROM effects"); n != 0 {
			f.Errorf("%d messages overtook m1", n)
		}
		_, source = runRelease(f, currentRelease, handler)
		failed := len(f.attempts("m1"))
		f.eventually("the new version has m1 too", func() bool { return len(f.attempts("m1")) > failed+3 })
		if err := before.halt(); err != nil {
			f.Error(err)
		}
		m4 := deliver(source, "m4")
		broken.Store(false)
		f.acked(m4)
		ids := []string{"m1", "m2", "m3", "m4"}
		f.eventually("all are applied", func() bool { return f.allEnded(ids) })
		for _, id := range ids {
			if f.effects(id) != 1 {
				f.Errorf("%s was applied %d times", id, f.effects(id))
			}
		}
		f.noLetters()
	})
}

// During such a deploy both versions run. The old one puts m2 behind m1 at the moment at
// which the new one applies m1. m2 is applied too, at the latest when the old version has
// ended.
//
// Without that m2 was blocked without end, and with it all later messages of its key. The
// new version did not lock the order key, so the old one could still see m1 waiting.
//
//evidence:strict-off
func TestDeployWithoutStrictOrderWhileBothRun(t *testing.T) {
	t.Parallel()
	onEachDeploy(t, onPostgres, func(f *fixture, old release) {
		// The COMMIT of m1 waits for a lock that the test has.
		f.exec(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN PERFORM pg_advisory_xact_lock(4711, hashtext(current_schema())); RETURN NULL; END'`)
		f.exec("CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.msg = 'm1') EXECUTE FUNCTION slow()")
		before, source := runRelease(f, old, func(context.Context, *headrace.Tx, *headrace.Message[body]) error {
			return retry.After(300*time.Millisecond, errBoom)
		})
		key := map[string]string{orderKey: "key"}
		f.acked(source.Deliver(topic, "m1", []byte(`{}`), key))
		f.eventually("m1 has failed", func() bool { return len(f.attempts("m1")) > 0 })

		session, err := f.db.Conn(context.Background())
		if err != nil {
			f.Fatal(err)
		}
		defer session.Close()
		if _, err := session.ExecContext(f.Context(), "SELECT pg_advisory_lock(4711, hashtext(current_schema()))"); err != nil {
			f.Fatal(err)
		}
		runRelease(f, currentRelease, insert)
		f.eventually("m1 is about to be applied", func() bool {
			return f.count(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
				AND classid = 4711 AND objid = hashtext(current_schema())::bigint & 4294967295`) > 0
		})
		behind := source.Deliver(topic, "m2", []byte(`{}`), key)
		f.comes(time.Second, func() bool { return f.state("m2") != "" })
		if _, err := session.ExecContext(f.Context(), "SELECT pg_advisory_unlock(4711, hashtext(current_schema()))"); err != nil {
			f.Fatal(err)
		}
		f.acked(behind)
		f.eventually("m1 is applied", func() bool { return f.effects("m1") == 1 })
		if err := before.halt(); err != nil {
			f.Error(err)
		}
		f.eventually("m2 is applied", func() bool { return f.effects("m2") == 1 })
		f.noLetters()
	})
}
