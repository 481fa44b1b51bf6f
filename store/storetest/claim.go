package storetest

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

const scope = "billing/orders.paid"

var claimTests = []test{
	{name: "new keys are won, and kept if committed", run: claimNew},
	{name: "a committed key is lost with its state and fingerprint", run: claimLost},
	{name: "a rolled-back claim leaves no row", run: claimRolledBack},
	{name: "a group wins some and loses some", run: claimMixed},
	{name: "an answer has the index of its claim", run: claimIndex},
	{name: "no claims are no statement", run: claimNone},
	{name: "the fingerprint is not part of the identity", run: claimFingerprint},
	{name: "keys are told apart by their bytes", run: claimBytes},
	{name: "keys of no bytes or over 512 are refused", run: claimLimits},
	{name: "scopes share no keys", run: claimScopes},
	{name: "a claim for the backlog leaves waiting rows", run: claimWaiting},
	{name: "after many duplicates a claim says and does the same", run: claimAfterDuplicates},
}

func id(key string) inbox.ID { return inbox.ID{Scope: scope, Key: key} }

func claims(keys ...string) []inbox.Claim {
	list := make([]inbox.Claim, len(keys))
	for i, key := range keys {
		list[i] = inbox.Claim{ID: id(key), Fingerprint: "print of " + key}
	}
	return list
}

// claim claims keys, and returns the answers.
func (b *bundle) claim(t *txn.Txn, keys ...string) []inbox.Claimed {
	b.Helper()
	return b.request(t, inbox.ClaimRequest{Claims: claims(keys...)})
}

func (b *bundle) request(t *txn.Txn, r inbox.ClaimRequest) []inbox.Claimed {
	b.Helper()
	answers, err := b.Store.Inbox().Claim(b.ctx, t, r)
	if err != nil {
		b.Fatalf("Claim: %v", err)
	}
	if len(answers) != len(r.Claims) {
		b.Fatalf("Claim: %d answers to %d claims", len(answers), len(r.Claims))
	}
	return answers
}

// win claims keys and fails the test unless all are won.
func (b *bundle) win(t *txn.Txn, keys ...string) {
	b.Helper()
	for i, c := range b.claim(t, keys...) {
		if c.Result != inbox.Won {
			b.Fatalf("claim of %q: result %d, want Won", keys[i], c.Result)
		}
	}
}

// wantLost fails the test unless c is lost to a row of key in state.
func (b *bundle) wantLost(c inbox.Claimed, key string, state inbox.State) {
	b.Helper()
	if c.Result != inbox.Lost {
		b.Errorf("claim of %q: result %d, want Lost", key, c.Result)
		return
	}
	if e := c.Entry; e.ID != id(key) || e.State != state || e.Fingerprint != "print of "+key || e.At.IsZero() {
		b.Errorf("claim of %q: lost to %+v, want its own row in state %s", key, e, state)
	}
}

// state returns where the message of key is; "" where it has no row.
func (b *bundle) state(key string) inbox.State {
	b.Helper()
	entries, err := b.Store.Inbox().Find(b.ctx, key)
	b.must(err)
	for _, e := range entries {
		if e.Scope == scope {
			return e.State
		}
	}
	return ""
}

func (b *bundle) wantState(key string, want inbox.State) {
	b.Helper()
	if got := b.state(key); got != want {
		b.Errorf("state of %q is %q, want %q", key, got, want)
	}
}

func claimNew(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "a", "b") })
	entries, err := b.Store.Inbox().Find(b.ctx, "a")
	b.must(err)
	if len(entries) != 1 || entries[0].ID != id("a") || entries[0].State != inbox.Done ||
		entries[0].Fingerprint != "print of a" || entries[0].Stale {
		b.Errorf("rows of a: %+v, want one that is done", entries)
	}
	counts, err := b.Store.Inbox().Counts(b.ctx, "billing")
	b.must(err)
	if diff := cmp.Diff(map[inbox.State]int64{inbox.Done: 2}, counts); diff != "" {
		b.Errorf("counts of billing (-want +got):\n%s", diff)
	}
	for _, other := range []string{"bill", "billing/", "BILLING", "b_lling", "%", "shipping"} {
		if counts, err = b.Store.Inbox().Counts(b.ctx, other); err != nil || len(counts) != 0 {
			b.Errorf("counts of another consumer, %q: %v, %v", other, counts, err)
		}
	}
	if counts, err = b.Store.Inbox().Counts(b.ctx, ""); err != nil || counts[inbox.Done] != 2 {
		b.Errorf("counts of all: %v, %v", counts, err)
	}
}

func claimLost(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "done") })
	for key, state := range map[string]inbox.State{"waits": inbox.Waiting, "died": inbox.Dead, "gone": inbox.Discarded} {
		b.park(key, state)
	}
	t := b.begin()
	answers := b.claim(t, "done", "waits", "died", "gone")
	b.wantLost(answers[0], "done", inbox.Done)
	b.wantLost(answers[1], "waits", inbox.Waiting)
	b.wantLost(answers[2], "died", inbox.Dead)
	b.wantLost(answers[3], "gone", inbox.Discarded)
	b.commit(t)
}

func claimRolledBack(b *bundle) {
	t := b.begin()
	b.win(t, "a")
	t.Rollback()
	b.wantState("a", "")
	b.in(func(t *txn.Txn) { b.win(t, "a") })
	b.wantState("a", inbox.Done)
}

func claimMixed(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "b", "d") })
	b.in(func(t *txn.Txn) {
		answers := b.claim(t, "a", "b", "c", "d", "e")
		for i, key := range []string{"a", "b", "c", "d", "e"} {
			if i%2 == 1 {
				b.wantLost(answers[i], key, inbox.Done)
			} else if answers[i].Result != inbox.Won {
				b.Errorf("claim of %q: result %d, want Won", key, answers[i].Result)
			}
		}
	})
	b.wantState("e", inbox.Done)
}

// claimIndex claims in an order that no sort would leave alone.
func claimIndex(b *bundle) {
	taken := map[string]bool{"m": true, "z": true, "B": true}
	b.in(func(t *txn.Txn) { b.win(t, "m", "z", "B") })
	keys := []string{"z", "a", "m", "b", "B", "y", "A"}
	b.in(func(t *txn.Txn) {
		for i, c := range b.claim(t, keys...) {
			if taken[keys[i]] {
				b.wantLost(c, keys[i], inbox.Done)
			} else if c.Result != inbox.Won {
				b.Errorf("answer %d, to %q: result %d, want Won", i, keys[i], c.Result)
			}
		}
	})
}

func claimNone(b *bundle) {
	b.in(func(t *txn.Txn) { b.claim(t) })
}

func claimFingerprint(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "a") })
	b.in(func(t *txn.Txn) {
		answers := b.request(t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: id("a"), Fingerprint: "another"}}})
		b.wantLost(answers[0], "a", inbox.Done) // with the first one's fingerprint: a conflict
	})
}

// claimBytes claims keys that some locale, collation, pattern or quoting would
// take for one another.
func claimBytes(b *bundle) {
	keys := []string{
		"caf\u00e9", "cafe\u0301", // NFC and NFD
		"case", "CASE", "Case", "stra\u00dfe", "strasse",
		"trail", "trail ", "trail  ", " trail", "trail\t", "trail\n", " ",
		"50%", "50_", "500", `back\slash`, `back\\slash`,
		`quo'te`, `quo''te`, `quo"te`, "semi;colon--", "$1", "{{schema}}", "../up", "NULL", "null",
		"line\nbreak", "line\r\nbreak", "\u200bzero", "zero", "\U0001f600",
		strings.Repeat("x", 511) + "a", strings.Repeat("x", 511) + "b", strings.Repeat("\u00e9", 256),
	}
	b.in(func(t *txn.Txn) { b.win(t, keys...) })
	b.in(func(t *txn.Txn) {
		for i, c := range b.claim(t, keys...) {
			b.wantLost(c, keys[i], inbox.Done)
		}
	})
	for _, key := range keys {
		if entries, err := b.Store.Inbox().Find(b.ctx, key); err != nil || len(entries) != 1 || entries[0].Key != key {
			b.Errorf("Find(%q) = %+v, %v, want its one row", key, entries, err)
		}
	}
}

func claimLimits(b *bundle) {
	for _, key := range []string{"", strings.Repeat("x", 513), strings.Repeat("\u00e9", 257)} {
		t := b.begin()
		_, err := b.Store.Inbox().Claim(b.ctx, t, inbox.ClaimRequest{Claims: claims(key)})
		if err == nil {
			b.Errorf("a key of %d bytes was taken", len(key))
		}
		t.Rollback()
		b.wantState(key, "")
	}
}

func claimScopes(b *bundle) {
	var want []inbox.Entry
	for i := range 3 {
		e := inbox.Entry{ID: inbox.ID{Scope: fmt.Sprintf("consumer%d/topic", i), Key: "42"}, State: inbox.Done, Fingerprint: "f"}
		want = append(want, e)
		b.in(func(t *txn.Txn) {
			answers := b.request(t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: e.ID, Fingerprint: "f"}}})
			if answers[0].Result != inbox.Won {
				b.Errorf("claim in %s: result %d, want Won", e.Scope, answers[0].Result)
			}
		})
	}
	got, err := b.Store.Inbox().Find(b.ctx, "42")
	b.must(err)
	for i := range got {
		got[i].At = want[0].At
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("rows of 42 (-want +got):\n%s", diff)
	}
}

func claimWaiting(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "done") })
	b.in(func(t *txn.Txn) {
		got := b.request(t, inbox.ClaimRequest{Claims: claims("a", "done"), Waiting: true})
		b.wantLost(got[1], "done", inbox.Done)
		if got[0].Result != inbox.Won {
			b.Errorf("%+v", got[0])
		}
		b.put(t, item("a"))
	})
	b.wantState("a", inbox.Waiting)
	b.wantState("done", inbox.Done)
}

// claimAfterDuplicates: a store may look for rows before it claims, while most of what
// it is asked for has been there.
func claimAfterDuplicates(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "a", "b") })
	duplicates := func() {
		for range 20 {
			b.in(func(t *txn.Txn) {
				for i, c := range b.claim(t, "b", "a") {
					b.wantLost(c, []string{"b", "a"}[i], inbox.Done)
				}
			})
		}
	}
	duplicates()
	b.in(func(t *txn.Txn) {
		got := b.claim(t, "new", "a")
		if got[0].Result != inbox.Won || got[0].Entry != (inbox.Entry{}) {
			b.Errorf("new among duplicates: %+v", got[0])
		}
		b.wantLost(got[1], "a", inbox.Done)
	})
	b.wantState("new", inbox.Done)

	duplicates()
	b.in(func(t *txn.Txn) {
		got := b.request(t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: id("a"), Fingerprint: "other"}, claims("b")[0]}})
		b.wantLost(got[0], "a", inbox.Done)
		b.wantLost(got[1], "b", inbox.Done)
	})

	duplicates()
	t := b.begin()
	b.win(t, "c", "d")
	t.Rollback()
	b.in(func(t *txn.Txn) { b.win(t, "c", "d") })
}
