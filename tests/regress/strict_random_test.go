package regress

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
)

// failAtRandom fails in one of the ways that a handler has, or not.
func failAtRandom(ctx context.Context, tx *headrace.Tx, onFile bool) error {
	switch r := rand.IntN(20); {
	case r < 4:
		return errBoom
	case r == 4:
		panic("boom")
	case r == 5:
		return retry.Postpone(20*time.Millisecond, errBoom)
	case r == 6:
		return retry.After(30*time.Millisecond, errBoom)
	case r == 7:
		runtime.Goexit()
	case r == 8 && !onFile:
		_, err := tx.ExecContext(ctx, "DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$")
		return err
	}
	return nil
}

// Messages of a strict order key are applied in their order, by two processes, whatever
// way some of them fail, with repeated deliveries between them. Many of them share a
// transaction.
//
//evidence:strict
func TestStrictOrderWithRandomFailures(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		const keys, each = 6, 40
		id := "BIGSERIAL PRIMARY KEY"
		if f.driver == onFile {
			id = "INTEGER PRIMARY KEY AUTOINCREMENT"
		}
		f.exec("CREATE TABLE applied (id " + id + ", k TEXT, n INTEGER)")
		var seen runs
		handler := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if _, err := tx.ExecContext(ctx, "INSERT INTO applied (k, n) VALUES ($1, $2)", m.OrderKey, m.Body.N); err != nil {
				return err
			}
			if seen.next(m.ID) > 6 {
				return nil
			}
			return failAtRandom(ctx, tx, f.driver == onFile)
		}
		sources := [2]*memsource.Source{memsource.New(), memsource.New()}
		for _, source := range sources {
			config := f.config()
			config.Source, config.Strict, config.Retry = source, true, attempts(50)
			c := f.consumer(f.open(), config)
			consumer.Handle(c, topic, handler)
			f.start(c)
		}
		var senders sync.WaitGroup
		for k := range keys {
			senders.Go(func() {
				key := fmt.Sprint("k", k)
				for i := range each {
					for again := false; ; again = true {
						m := sources[rand.IntN(2)].Deliver(topic, fmt.Sprint(key, "-", i), fmt.Appendf(nil, `{"n":%d}`, i), map[string]string{orderKey: key})
						if again {
							break
						}
						ctx, cancel := context.WithTimeout(context.Background(), bound)
						if ok, err := memsource.Outcome(ctx, m); err != nil || !ok {
							f.Errorf("%s-%d: %t, %v", key, i, ok, err)
						}
						if cancel(); rand.IntN(4) > 0 {
							break
						}
					}
				}
			})
		}
		senders.Wait()
		f.eventually("all are applied", func() bool { return f.count("SELECT count(*) FROM applied") >= keys*each })
		if n := f.count("SELECT count(*) FROM applied"); n != keys*each {
			f.Errorf("%d messages were applied %d times", keys*each, n)
		}
		if n := f.count("SELECT count(*) FROM applied a WHERE EXISTS (SELECT 1 FROM applied b WHERE b.k = a.k AND b.id > a.id AND b.n <= a.n)"); n > 0 {
			f.Errorf("%d messages were applied before an earlier one of their order key", n)
		}
		f.noLetters()
	})
}
