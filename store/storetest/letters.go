package storetest

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var letterTests = []test{
	{name: "a letter keeps every field, byte for byte", run: letterKeeps},
	{name: "a letter without attempts fails now", run: letterFailsNow},
	{name: "a message has one open letter by fingerprint", run: letterOnce},
	{name: "a conflict that was decided stays decided", run: letterDecided},
	{name: "letters are written many at a time, with ids in their order", run: letterBulk},
	{name: "letters in opposite order never deadlock", run: lettersCross, needs: concurrentWriters},
	{name: "a letter waits for one of the same message, and is not written beside it", run: letterAtOnce, needs: concurrentWriters},
	{name: "a message may have a new letter after a redrive", run: letterAgain},
	{name: "a letter that does not exist is ErrNotFound", run: letterNotFound},
	{name: "each filter narrows, alone and combined", run: letterFilters},
	{name: "a list goes from new to old, by page, without the large parts", run: letterPages},
	{name: "letters are looked at in windows", run: letterWindows},
	{name: "groups are counted, largest first", run: letterGroups},
	{name: "a letter leads to the one after it", run: letterNext},
	{name: "a redriven letter is open again", run: letterReopens},
	{name: "deliveries under a stand-in key are counted", run: letterCounts},
	{name: "the trail of a letter is kept in order", run: letterTrail},
}

// insert writes l and returns its id; it must not be there yet.
func (b *bundle) insert(t *txn.Txn, l dlq.Letter) int64 {
	b.Helper()
	return b.insertAll(t, l)[0]
}

// insertAll writes letters and returns their ids; none may be there yet.
func (b *bundle) insertAll(t *txn.Txn, letters ...dlq.Letter) (ids []int64) {
	b.Helper()
	got, err := b.Store.Letters().Insert(b.ctx, t, letters)
	if err != nil || len(got) != len(letters) {
		b.Fatalf("Insert of %d: %+v, %v", len(letters), got, err)
	}
	for _, i := range got {
		if !i.Written || i.LetterID == 0 {
			b.Fatalf("Insert: %+v", got)
		}
		ids = append(ids, i.LetterID)
	}
	return ids
}

// wantThere inserts a letter, which must be there already under that id.
func (b *bundle) wantThere(what string, l dlq.Letter, id int64) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		got, err := b.Store.Letters().Insert(b.ctx, t, []dlq.Letter{l})
		if err != nil || len(got) != 1 || got[0] != (dlq.Inserted{LetterID: id}) {
			b.Errorf("%s: %+v, %v, want id %d, which was there", what, got, err, id)
		}
	})
}

// die writes letters with the inbox rows that say so, and returns their ids.
func (b *bundle) die(letters ...dlq.Letter) (ids []int64) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		var r inbox.ClaimRequest
		var dead []inbox.ID
		for _, l := range letters {
			if l.Class != dlq.Conflict {
				r.Claims = append(r.Claims, inbox.Claim{ID: l.ID(), Fingerprint: l.Delivery.Fingerprint})
				dead = append(dead, l.ID())
			}
		}
		b.request(t, r)
		_, err := b.Store.Inbox().Transition(b.ctx, t, dead, inbox.Done, inbox.Dead)
		b.must(err)
		ids = b.insertAll(t, letters...)
	})
	return ids
}

func (b *bundle) letter(id int64) dlq.Letter {
	b.Helper()
	l, err := b.Store.Letters().Get(b.ctx, id)
	if err != nil {
		b.Fatalf("Get(%d): %v", id, err)
	}
	return l
}

// wantLetter compares all that the caller decides.
func (b *bundle) wantLetter(got, want dlq.Letter) {
	b.Helper()
	// The number of a run and what a letter's redrive counts are compared elsewhere.
	ignored := cmpopts.IgnoreFields(dlq.Letter{}, "LetterID", "CreatedAt", "ChangedAt", "FirstFailure", "LastFailure", "Delivery.Attempt")
	if diff := cmp.Diff(want, got, ignored, asKept); diff != "" {
		b.Errorf("letter of %q (-want +got):\n%.4000s", want.Delivery.Key, diff)
	}
}

//evidence:bytes letter
func letterKeeps(b *bundle) {
	classes := []dlq.Class{dlq.Exhausted, dlq.Permanent, dlq.Undecodable}
	for n, a := range awkward {
		want := letter(a.name)
		want.Delivery.Payload, want.Delivery.Metadata = a.payload, a.metadata
		want.Delivery.OrderKey, want.Strict = "order "+a.name, n%2 == 0
		want.Class, want.Attempts, want.Redrives, want.PreviousID = classes[n%3], n, n+1, int64(n)<<33
		want.FirstFingerprint = "first"
		id := b.die(want)[0]
		got := b.letter(id)
		if got.LetterID != id || got.CreatedAt.IsZero() || got.ChangedAt.IsZero() || got.Delivery.Metadata == nil {
			b.Errorf("letter %d: id %d, created %s, changed %s, metadata %v", id, got.LetterID, got.CreatedAt, got.ChangedAt, got.Delivery.Metadata)
		}
		b.wantLetter(got, want)
	}
}

// letterFailsNow also has the failures of recorded attempts, which a conflict does
// not share with the message that had the key first.
func letterFailsNow(b *bundle) {
	b.in(func(t *txn.Txn) { b.fail(t, "failed"); b.fail(t, "failed") })
	attempts := b.attempts("failed")
	b.shift(time.Second)
	conflict := letter("failed")
	conflict.Class, conflict.Delivery.Fingerprint = dlq.Conflict, "another"
	ids := b.die(letter("fresh"), letter("failed"), conflict)
	if l := b.letter(ids[1]); !l.FirstFailure.Equal(attempts[0].At) || !l.LastFailure.Equal(attempts[1].At) {
		b.Errorf("failed from %s to %s, want exactly %s to %s", l.FirstFailure, l.LastFailure, attempts[0].At, attempts[1].At)
	}
	for _, i := range []int{0, 2} {
		l := b.letter(ids[i])
		if !l.FirstFailure.After(attempts[1].At) || l.LastFailure.Before(l.FirstFailure) || l.CreatedAt.Sub(l.FirstFailure).Abs() > time.Minute {
			b.Errorf("letter %d failed from %s to %s, was written at %s, and the attempts of another ended at %s",
				i, l.FirstFailure, l.LastFailure, l.CreatedAt, attempts[1].At)
		}
	}
}

//evidence:conflict
func letterOnce(b *bundle) {
	id := b.die(letter("a"))[0]
	again := letter("a")
	again.Error = "another error"
	b.wantThere("the second Insert", again, id)
	if l := b.letter(id); l.Error != letter("a").Error {
		b.Errorf("the letter was overwritten: %q", l.Error)
	}
	// A conflict has the same key and another fingerprint.
	conflict := letter("a")
	conflict.Class, conflict.Delivery.Fingerprint, conflict.FirstFingerprint = dlq.Conflict, "other print", "print of a"
	other := b.die(conflict)[0]
	if other == id {
		b.Error("a conflict shares the letter of the first")
	}
	b.wantThere("the second Insert of a conflict", conflict, other)
	b.wantLetter(b.letter(other), conflict)
}

func letterAgain(b *bundle) {
	first := b.die(letter("a"))[0]
	b.redrive(first, "a")
	again := letter("a")
	again.PreviousID, again.Redrives = first, 1
	var second int64
	b.in(func(t *txn.Txn) {
		b.move(t, inbox.Waiting, inbox.Dead, "a")
		b.remove(t, "a")
		second = b.insert(t, again)
	})
	if second <= first {
		b.Errorf("the new letter is %d after %d", second, first)
	}
	b.wantLetter(b.letter(second), again)
	if l := b.letter(first); l.State != dlq.Redriven || l.ChangedAt.Before(l.CreatedAt) {
		b.Errorf("the first letter: %s, changed %s", l.State, l.ChangedAt)
	}
}

// redrive puts the message of a letter into the backlog.
func (b *bundle) redrive(id int64, key string) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		if got := b.take(t, dlq.Filter{IDs: []int64{id}}, dlq.Redriven, 0, 1); len(got) != 1 {
			b.Fatalf("Take(%d) took %d letters", id, len(got))
		}
		b.move(t, inbox.Dead, inbox.Waiting, key)
		b.put(t, item(key))
	})
}

func letterNotFound(b *bundle) {
	id := b.die(letter("a"))[0]
	for _, id := range []int64{id + 1, 0, -1} {
		if _, err := b.Store.Letters().Get(b.ctx, id); !errors.Is(err, dlq.ErrNotFound) {
			b.Errorf("Get(%d): %v, want ErrNotFound", id, err)
		}
	}
}

func letterPages(b *bundle) {
	var letters []dlq.Letter
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		letters = append(letters, letter(key))
	}
	ids := b.die(letters...)
	var before int64
	var got []string
	for range 3 {
		page, err := b.Store.Letters().List(b.ctx, dlq.Filter{}, before, 2)
		b.must(err)
		for _, l := range page {
			got, before = append(got, l.Delivery.Key), l.LetterID
			if len(l.Delivery.Payload) != 0 || len(l.Delivery.Metadata) != 0 || l.Stack != "" {
				b.Errorf("letter %d is listed with its large parts", l.LetterID)
			}
			want := letter(l.Delivery.Key)
			want.Delivery.Payload, want.Delivery.Metadata, want.Stack = nil, nil, ""
			b.wantLetter(l, want)
		}
	}
	if diff := cmp.Diff([]string{"e", "d", "c", "b", "a"}, got); diff != "" {
		b.Errorf("pages (-want +got):\n%s", diff)
	}
	if page, err := b.Store.Letters().List(b.ctx, dlq.Filter{}, ids[0], 2); err != nil || len(page) != 0 {
		b.Errorf("below the first: %d letters, %v", len(page), err)
	}
}

func letterGroups(b *bundle) {
	var letters []dlq.Letter
	add := func(key, print string, class dlq.Class) {
		l := letter(key)
		l.ErrorFingerprint, l.Class, l.Error = print, class, "error of "+key
		letters = append(letters, l)
	}
	add("a", "rare", dlq.Permanent)
	add("b", "common", dlq.Exhausted)
	add("c", "common", dlq.Exhausted)
	add("d", "common", dlq.Permanent)
	add("e", "common", dlq.Exhausted)
	ids := b.die(letters...)
	groups, err := b.Store.Letters().Groups(b.ctx, dlq.Filter{})
	b.must(err)
	for _, g := range groups {
		if g.First.IsZero() || g.Last.Before(g.First) {
			b.Errorf("group %s from %s to %s", g.ErrorFingerprint, g.First, g.Last)
		}
	}
	want := []dlq.Group{
		{ErrorFingerprint: "common", Consumer: consumer, Handler: handler, Class: dlq.Exhausted, Count: 4, Sample: "error of e", SampleID: ids[4]},
		{ErrorFingerprint: "rare", Consumer: consumer, Handler: handler, Class: dlq.Permanent, Count: 1, Sample: "error of a", SampleID: ids[0]},
	}
	if diff := cmp.Diff(want, groups, cmpopts.IgnoreFields(dlq.Group{}, "First", "Last")); diff != "" {
		b.Errorf("groups (-want +got):\n%s", diff)
	}
	groups, err = b.Store.Letters().Groups(b.ctx, dlq.Filter{ErrorFingerprint: "rare"})
	b.must(err)
	if len(groups) != 1 || groups[0].Count != 1 {
		b.Errorf("groups of a filter: %+v", groups)
	}
}

func letterTrail(b *bundle) {
	ids := b.die(letter("a"), letter("b"))
	b.in(func(t *txn.Txn) {
		b.must(b.Store.Letters().Record(b.ctx, t, nil))
		b.must(b.Store.Letters().Record(b.ctx, t, []dlq.Audit{
			{LetterID: ids[0], Action: "redrive", By: "ann", Reason: "fixed in v2", RedriveID: 42, Detail: "under the new key a'2"},
			{LetterID: ids[1], Action: "discard", By: "bob", Reason: ""},
			{LetterID: ids[0], Action: "discard", By: "\u00e9ve", Reason: "not needed; --"},
		}))
	})
	got, err := b.Store.Letters().Trail(b.ctx, ids[0])
	b.must(err)
	want := []dlq.Audit{
		{LetterID: ids[0], Action: "redrive", By: "ann", Reason: "fixed in v2", RedriveID: 42, Detail: "under the new key a'2"},
		{LetterID: ids[0], Action: "discard", By: "\u00e9ve", Reason: "not needed; --"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(dlq.Audit{}, "At", "DBUser")); diff != "" {
		b.Errorf("trail (-want +got):\n%s", diff)
	}
	for _, a := range got {
		if a.At.IsZero() {
			b.Error("an audit row without a time")
		}
		if (a.DBUser == "") == b.harness.ConcurrentWriters { // SQLite has no logins
			b.Errorf("the login is %q", a.DBUser)
		}
	}
	if got, err := b.Store.Letters().Trail(b.ctx, ids[1]+1); err != nil || len(got) != 0 {
		b.Errorf("trail of no letter: %v, %v", got, err)
	}
}
