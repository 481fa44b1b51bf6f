package storetest

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

var answerTests = []test{
	{name: "an answer is there after the commit, and the last one counts", run: answerKept},
	{name: "messages are found in one query", run: answerFind},
}

func (b *bundle) answer(t *txn.Txn, keys ...string) {
	b.Helper()
	var list []store.Answer
	for _, key := range keys {
		list = append(list, store.Answer{ID: id(key), Value: []byte(`{"of":"` + key + `"}`)})
	}
	b.must(b.Store.Operations().Answers.Put(b.ctx, t, list))
}

func (b *bundle) wantAnswer(key, want string) {
	b.Helper()
	got, err := b.Store.Operations().Answers.Get(b.ctx, id(key))
	if b.must(err); string(got) != want || got == nil != (want == "") {
		b.Errorf("the answer to %s is %q, not %q", key, got, want)
	}
}

func answerKept(b *bundle) {
	t := b.begin()
	b.win(t, "a")
	b.answer(t, "a")
	t.Rollback()
	b.wantAnswer("a", "")
	b.in(func(t *txn.Txn) {
		b.win(t, "a", "b")
		b.answer(t)
		b.answer(t, "a", "b")
		b.must(b.Store.Operations().Answers.Put(b.ctx, t, []store.Answer{{ID: id("a"), Value: []byte(`"é\u0000 2"`)}}))
	})
	b.wantAnswer("a", `"é\u0000 2"`)
	b.wantAnswer("b", `{"of":"b"}`)
	b.wantAnswer("c", "")
	b.wantAnswer("c\x00", "")
	large := []byte(`"` + strings.Repeat("x", 1<<20-2) + `"`)
	b.in(func(t *txn.Txn) {
		b.must(b.Store.Operations().Answers.Put(b.ctx, t, []store.Answer{{ID: id("b"), Value: large}}))
	})
	b.wantAnswer("b", string(large))
	for _, bad := range []store.Answer{{ID: id("a\x00"), Value: []byte(`1`)}, {ID: id("a"), Value: []byte("\"\xff\"")}} {
		t := b.begin()
		if err := b.Store.Operations().Answers.Put(b.ctx, t, []store.Answer{bad}); err == nil {
			b.Errorf("%q was taken", bad)
		}
		t.Rollback()
	}
}

func answerFind(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "done") })
	b.park("waiting", inbox.Waiting)
	got, err := b.Store.Operations().Answers.Find(b.ctx, []inbox.ID{
		id("done"), id("waiting"), id("none"), id("\x00"), {Scope: "another", Key: "done"},
	})
	b.must(err)
	states := map[string]inbox.State{}
	for _, e := range got {
		if states[e.Key] = e.State; e.At.IsZero() || e.Fingerprint == "" {
			b.Errorf("%+v", e)
		}
	}
	if diff := cmp.Diff(map[string]inbox.State{"done": inbox.Done, "waiting": inbox.Waiting}, states); diff != "" {
		b.Errorf("(-want +got):\n%s", diff)
	}
	none, err := b.Store.Operations().Answers.Find(b.ctx, nil)
	if b.must(err); !slices.Equal(none, nil) {
		b.Errorf("%+v", none)
	}
}
