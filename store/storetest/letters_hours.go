package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// letterHours: the open letters of a group are counted by hour and build, the newest first
// where there are more than asked for.
func letterHours(b *bundle) {
	write := func(build, print string, keys ...string) {
		var letters []dlq.Letter
		for _, key := range keys {
			l := letter(key)
			l.ErrorFingerprint, l.Build = print, build
			letters = append(letters, l)
		}
		b.die(letters...)
	}
	b.shift(time.Hour)
	write("v1", "print", "a", "b")
	b.shift(2 * time.Hour)
	write("v1", "print", "c")
	write("v2", "print", "d", "e")
	write("v2", "another", "f")
	b.in(func(t *txn.Txn) {
		b.take(t, dlq.Filter{Key: "e"}, dlq.Discarded, 0, 1)
		b.move(t, inbox.Dead, inbox.Discarded, "e")
	})
	hours := func(want []dlq.Hour, f dlq.Filter, limit int) []dlq.Hour {
		b.Helper()
		got, err := b.Store.Letters().Hours(b.ctx, f, limit)
		b.must(err)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(dlq.Hour{}, "Start", "First"), cmpopts.EquateEmpty()); diff != "" {
			b.Errorf("hours of %+v (-want +got):\n%s", f, diff)
		}
		for _, h := range got {
			if !h.Start.Equal(h.Start.Truncate(time.Hour)) || h.First.Before(h.Start) || h.First.Sub(h.Start) >= time.Hour {
				b.Errorf("%+v", h)
			}
		}
		return got
	}
	got := hours([]dlq.Hour{{Build: "v1", Count: 2}, {Build: "v1", Count: 1}, {Build: "v2", Count: 1}}, dlq.Filter{ErrorFingerprint: "print", Consumer: consumer, Handler: handler, Class: letter("a").Class}, 100)
	if len(got) == 3 && !got[1].Start.After(got[0].Start) {
		b.Errorf("%+v", got)
	}
	hours([]dlq.Hour{{Build: "v1", Count: 1}, {Build: "v2", Count: 1}}, dlq.Filter{ErrorFingerprint: "print"}, 2)
	for _, f := range []dlq.Filter{{ErrorFingerprint: "print", Consumer: "x"}, {ErrorFingerprint: "print", Handler: "x"}, {ErrorFingerprint: "print", Class: dlq.Conflict}, {ErrorFingerprint: "none"}} {
		hours(nil, f, 100)
	}
}

// letterNext: from the letter that was redriven to the one of its message that came after.
func letterNext(b *bundle) {
	first, other := letter("a"), letter("b")
	ids := b.die(first, other)
	second := letter("c")
	second.PreviousID = ids[0]
	next := b.die(second)[0]
	for id, want := range map[int64]int64{ids[0]: next, ids[1]: 0, next: 0, 0: 0} {
		if got, err := b.Store.Letters().Next(b.ctx, id); err != nil || got != want {
			b.Errorf("after %d comes %d, %v; want %d", id, got, err, want)
		}
	}
}
