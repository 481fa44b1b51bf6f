package ui_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// A discard says how many letters have a call that may have been carried out, and has a box to tick
// to discard these letters, too.
//
//evidence:open-step
func TestDiscardWithOpenCalls(t *testing.T) {
	f := newFixture(t)
	f.fail(2)
	_, stop := f.run("v1.8.0", func(paid) error { return errors.New("still negative") })
	defer stop()
	err := store.Transact(t.Context(), f.st, func(tx *txn.Txn) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, last_call_at, changed_at)
			SELECT scope, key, 'charge', 'bank', 'pending', 'c', '', created_at, created_at FROM headrace_dead_letters WHERE id = 2`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f.get("/l/2")
	f.wants(http.StatusOK, "headrace steps ")
	f.get("/g/" + f.letters()[0].ErrorFingerprint)
	f.click("/discard")
	f.wants(http.StatusOK, "1 with a step whose call may have been carried out", "also the 1 letter with a step whose call may have been carried out")
	f.click("/apply", "reason", "a test order", "open", "1")
	f.eventually("the discard has ended", func() bool { f.get("/redrives"); return strings.Contains(f.body, "chip done") })
	f.get("/l/2")
	f.wants(http.StatusOK, "discarded")
}
