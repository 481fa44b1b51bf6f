package watching

import (
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Where another handler has letters of the same fingerprint, the command of an alert names the handler.
func TestCommandOfSharedFingerprint(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		letter := func(consumer, handler, print string) dlq.Letter {
			return dlq.Letter{
				Class: dlq.Conflict, FirstFingerprint: "g", Consumer: consumer, Handler: handler, ErrorFingerprint: print, Error: "no total",
				Delivery: headrace.Delivery{Scope: consumer + "/" + handler, Key: print, Fingerprint: "f"},
			}
		}
		err := store.Transact(t.Context(), st, func(tx *txn.Txn) error {
			letters := []dlq.Letter{
				letter("c", "paid", "aaaaaaaaaaaaaaaa"), letter("c", "refunded", "aaaaaaaaaaaaaaaa"),
				letter("c", "paid", "bbbbbbbbbbbbbbbb"), letter("mailer", "a b", "bbbbbbbbbbbbbbbb"), letter("c", "paid", "cccccccccccccccc"),
			}
			_, err := st.Letters().Insert(t.Context(), tx, letters)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		p := newProcess(t, st, "p", "", alerts.Options{})
		f := p.newFacts("c", noon)
		if err := p.groups(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		if err := p.Watch.commands(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]bool)
		for _, x := range f.failing() {
			if x.ErrorFingerprint == "" {
				continue
			}
			got[x.Command] = true
			if !strings.HasSuffix(x.Text, " Next: "+x.Command) {
				t.Errorf("%q", x.Text)
			}
		}
		for _, want := range []string{
			"aaaaaaaaaaaaaaaa --consumer 'c' --handler 'paid'", "aaaaaaaaaaaaaaaa --consumer 'c' --handler 'refunded'",
			"bbbbbbbbbbbbbbbb --consumer 'c' --handler 'paid'", "cccccccccccccccc",
		} {
			if !got["headrace dlq why "+want] {
				t.Errorf("no command %s in %v", want, got)
			}
		}
	})
}
