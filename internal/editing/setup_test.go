package editing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// body is what a message says: its key, its order key, and how much. A negative total fails.
type body struct {
	ID    string `json:"id,omitempty"`
	Order string `json:"order,omitempty"`
	Total int    `json:"total"`
}

// fixture is a consumer with one handler, whose key is in the payload.
type fixture struct {
	*enginetest.Fixture
	e     *enginetest.Engine
	h     *task.Handler
	admin *editing.Admin
	job   *redriving.Engine
	last  task.Outcome // of the newest delivery
}

func onEachStore(t *testing.T, check func(*fixture)) {
	enginetest.OnEachStore(t, func(e *enginetest.Fixture) {
		f := &fixture{Fixture: e, e: e.Engine(nil)}
		f.h = enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			total := in.Body.(body).Total
			if total < 0 {
				return enginetest.ErrBoom
			}
			_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg) VALUES ($1)", fmt.Sprintf("%s %d", in.Delivery.Key, total))
			return err
		})
		f.h.Decode = decode
		f.h.Identify = func(t *task.Task) {
			d := &t.Delivery
			if t.Bad = inbox.Identify(d, inbox.JSON("id"), inbox.Payload(), nil); t.Bad == nil {
				if t.Body, t.Bad = decode(d); t.Bad == nil {
					d.OrderKey = t.Body.(body).Order
				}
			}
		}
		f.admin = &editing.Admin{Store: e.Store.Store, Handlers: []*task.Handler{f.h}}
		f.job = &redriving.Engine{Store: e.Store.Store, Consumer: enginetest.Consumer, Handlers: f.admin.Handlers, Logger: slog.New(slog.DiscardHandler)}
		check(f)
	})
}

func decode(d *headrace.Delivery) (any, error) {
	var b body
	err := json.Unmarshal(d.Payload, &b)
	return b, err
}

// deliver delivers a message, and returns its outcome.
func (f *fixture) deliver(payload string) task.Outcome {
	f.Helper()
	one := &task.Task{Handler: f.h, Delivery: enginetest.Delivery(f.h, "", "")}
	one.Delivery.ID, one.Delivery.Payload = "m-1", []byte(payload)
	f.h.Identify(one)
	one.Finish = func(o task.Outcome) { f.last = o }
	f.e.ProcessAll([]*task.Task{one})
	return f.last
}

// letter delivers a message that becomes a letter, and returns it.
func (f *fixture) letter(payload string) dlq.Letter {
	f.Helper()
	if o := f.deliver(payload); o != task.Dead && o != task.Conflict {
		f.Fatalf("%s is %v", payload, o)
	}
	list := f.Letters()
	return f.get(list[0].LetterID) // the newest
}

func (f *fixture) get(id int64) dlq.Letter {
	f.Helper()
	l, err := f.Store.Letters().Get(f.Context(), id)
	if err != nil {
		f.Fatal(err)
	}
	return l
}

// ask asks for what a kind of request does.
func ask[B any](f *fixture, kind string, args any) (answer B, err error) {
	f.Helper()
	return askOf[B](f, enginetest.Consumer, kind, args)
}

// askOf asks a consumer.
func askOf[B any](f *fixture, consumer, kind string, args any) (answer B, err error) {
	f.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		f.Fatal(err)
	}
	q := instance.Request{Kind: kind, Consumer: consumer, Args: text, By: "ann", Reason: "INC-7", DBUser: "anna"}
	value, err := f.admin.Actions()[kind](f.Context(), q)
	answer, _ = value.(B)
	return answer, err
}

// edit edits a letter as it was read.
func (f *fixture) edit(l dlq.Letter, payload string) (editing.Edited, error) {
	f.Helper()
	return ask[editing.Edited](f, editing.EditKind, editing.Edit{LetterID: l.LetterID, Rev: l.Rev, Payload: []byte(payload), Metadata: map[string]string{"edited": "yes"}})
}

// edited edits a letter, and fails the test if it cannot.
func (f *fixture) edited(l dlq.Letter, payload string) editing.Edited {
	f.Helper()
	a, err := f.edit(l, payload)
	if err != nil {
		f.Fatal(err)
	}
	return a
}

// refused fails the test unless err is a refusal that says so.
func (f *fixture) refused(err error, says string) {
	f.Helper()
	if !errors.Is(err, instance.ErrRefused) || !strings.Contains(err.Error(), says) {
		f.Errorf("%v, want %q", err, says)
	}
}

// redrive redrives letters and has them handled.
func (f *fixture) redrive(ids ...int64) redrive.Result {
	f.Helper()
	done, err := redrive.New(f.Store.Store).Redrive(f.Context(), redrive.Request{Filter: dlq.Filter{IDs: ids}, By: "ann"})
	if err != nil {
		f.Fatal(err)
	}
	f.work()
	return done
}

func (f *fixture) work() {
	f.Helper()
	f.e.WorkOff(f.e.Worker(f.h))
}

// fingerprint is that of the inbox row of a key; "" without one.
func (f *fixture) fingerprint(key string) string {
	f.Helper()
	rows, err := f.Store.Inbox().Find(f.Context(), key)
	if err != nil {
		f.Fatal(err)
	}
	if len(rows) == 0 {
		return ""
	}
	return rows[0].Fingerprint
}

// effects fails the test unless exactly these were made.
func (f *fixture) effects(want ...string) {
	f.Helper()
	if n := f.Count("SELECT count(*) FROM effects"); n != len(want) {
		f.Errorf("%d effects, want %q", n, want)
	}
	for _, one := range want {
		if f.Effects(one) != 1 {
			f.Errorf("%q was made %d times", one, f.Effects(one))
		}
	}
}
