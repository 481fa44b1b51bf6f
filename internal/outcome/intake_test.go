package outcome_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store/txn"
)

// message is one that is to be taken in.
func message(h *task.Handler, key, fingerprint string, bad error) outcome.Message {
	d := enginetest.Delivery(h, key, "")
	d.Fingerprint = fingerprint
	return outcome.Message{Item: backlog.Item{Consumer: h.Consumer, Handler: h.Name, Delivery: d}, Bad: bad}
}

func (f *fixture) intake(messages ...outcome.Message) (in outcome.Intake) {
	f.Helper()
	f.In(func(t *txn.Txn) (err error) {
		in, err = f.r.Intake(f.Context(), t, messages, outcome.Limits{Lock: time.Second})
		return err
	})
	return in
}

// An intake says what became of each message: taken, known, a conflict or undecodable.
// Two of one key in one intake are one message and a duplicate, or a conflict.
func TestIntake(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.r.DeadTopic = copyTopic
		h, noJSON := handler("orders"), errors.New("no JSON")
		if in := f.intake(); len(in.Messages) != 0 || in.Busy {
			f.Errorf("nothing: %+v", in)
		}
		f.intake(message(h, "known", "f", nil))
		in := f.intake(
			message(h, "new", "f", nil), message(h, "known", "f", nil), message(h, "known", "g", nil), message(h, "bad", "f", noJSON),
			message(h, "twice", "f", nil), message(h, "twice", "f", nil), message(h, "twice", "g", noJSON), message(h, "bad", "f", noJSON),
		)
		want := []outcome.Taking{
			outcome.Taken, outcome.Known, outcome.Conflict, outcome.Dead, outcome.Taken, outcome.Known, outcome.Conflict, outcome.Known,
		}
		letters := []dlq.Class{"", "", dlq.Conflict, dlq.Undecodable, "", "", dlq.Conflict, ""}
		if !slices.Equal(in.Messages, want) || !slices.Equal(classes(in.Letters), letters) || in.Busy || len(in.Copies) != 3 {
			f.Errorf("%+v", in)
		}
		if e := in.Entries[1]; e.State != inbox.Waiting || e.Fingerprint != "f" {
			f.Errorf("the entry of what is known: %+v", e)
		}
		if d := f.depth(); d != (backlog.Depth{Ready: 3}) || f.State(h, "bad") != inbox.Dead || f.State(h, "twice") != inbox.Waiting {
			f.Errorf("%+v, states %q and %q", d, f.State(h, "bad"), f.State(h, "twice"))
		}
		for _, l := range f.Letters() {
			switch key := l.Delivery.Key; {
			case l.Class == dlq.Conflict && (l.FirstFingerprint != "f" || l.Delivery.Fingerprint != "g"),
				l.Class == dlq.Undecodable && (l.Error != "no JSON" || l.FirstFingerprint != ""),
				key == "twice" && !slices.Contains(l.Chain, "*errors.errorString: no JSON"):
				f.Errorf("letter of %s: %+v", key, l)
			}
		}
	})
}

// classes are those of letters; "" where there is none.
func classes(letters []*dlq.Letter) []dlq.Class {
	list := make([]dlq.Class, len(letters))
	for i, l := range letters {
		if l != nil {
			list[i] = l.Class
		}
	}
	return list
}

// A letter that exists already is not written again, nor its copy and its alert.
func TestLetterThatExists(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.r.DeadTopic = copyTopic
		h := handler("orders")
		f.intake(message(h, "m", "f", nil))
		for n, class := range []dlq.Class{dlq.Conflict, ""} {
			in := f.intake(message(h, "m", "g", nil))
			if in.Messages[0] != outcome.Conflict || classes(in.Letters)[0] != class || len(in.Copies) != 1-n {
				f.Errorf("intake %d: %+v", n, in)
			}
		}
		one := &task.Task{Handler: h, Delivery: message(h, "m", "g", nil).Item.Delivery, Letter: &dlq.Letter{}}
		f.In(func(t *txn.Txn) error {
			copies, err := f.r.Conflicts(f.Context(), t, []*task.Task{one}, []string{"f"})
			if len(copies) != 0 || one.Letter != nil {
				f.Errorf("copies %v, letter %+v", copies, one.Letter)
			}
			return err
		})
		one.Delivery.Fingerprint = "h"
		f.In(func(t *txn.Txn) error {
			copies, err := f.r.Conflicts(f.Context(), t, []*task.Task{one}, []string{"f"})
			if len(copies) != 1 || one.Letter == nil || one.Letter.Class != dlq.Conflict || one.Letter.LetterID == 0 {
				f.Errorf("copies %v, letter %+v", copies, one.Letter)
			}
			return err
		})
		if first := f.Letters()[0].FirstFingerprint; first != "f" {
			f.Errorf("the first had %q", first)
		}
		if n := len(f.Letters()); n != 2 {
			f.Errorf("%d letters", n)
		}
	})
}

// An intake that meets a key of another transaction does nothing but say so.
func TestIntakeOfABusyKey(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		if f.SQLite {
			f.Skip("SQLite has one writer: no key is busy")
		}
		h := handler("orders")
		other, err := f.Store.Begin(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		defer other.Rollback()
		f.live(other, h, "busy")
		mine, err := f.Store.Begin(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		defer mine.Rollback()
		in, err := f.r.Intake(f.Context(), mine, []outcome.Message{message(h, "m", "f", nil), message(h, "busy", "f", nil)}, outcome.Limits{Lock: 10 * time.Millisecond})
		if err != nil || !in.Busy || in.Messages[1] != outcome.Busy || len(in.Copies) != 0 {
			f.Errorf("%+v, %v", in, err)
		}
		var rows int
		if err := mine.QueryRowContext(f.Context(), "SELECT count(*) FROM headrace_backlog").Scan(&rows); err != nil || rows != 0 {
			f.Errorf("%d rows were put, %v", rows, err)
		}
	})
}
