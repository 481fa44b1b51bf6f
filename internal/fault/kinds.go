package fault

import (
	"runtime"
	"sync"
	"weak"

	"github.com/headrace/headrace/store/txn"
)

// kind says what a transaction has done; the highest counts.
type kind int

const (
	other kind = iota
	work
	letter
	relaying
	redrive
)

// points returns those before and after the commit.
func (k kind) points() (before, after Point) {
	switch k {
	case work:
		return BeforeCommit, AfterCommit
	case letter:
		return LetterBeforeCommit, LetterAfterCommit
	case relaying:
		return RelayBeforeCommit, RelayAfterCommit
	case redrive:
		return RedriveBeforeCommit, RedriveAfterCommit
	}
	return Call, Call
}

// kinds are those of the open transactions. No call tells when one was rolled back, so
// that they are held weakly.
type kinds struct {
	mu sync.Mutex
	by map[weak.Pointer[txn.Txn]]kind
}

func newKinds() *kinds { return &kinds{by: make(map[weak.Pointer[txn.Txn]]kind)} }

func (k *kinds) add(t *txn.Txn, what kind) {
	key := weak.Make(t)
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.by[key]; !known {
		runtime.AddCleanup(t, k.forget, key)
	}
	k.by[key] = max(k.by[key], what)
}

func (k *kinds) of(t *txn.Txn) kind {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.by[weak.Make(t)]
}

func (k *kinds) forget(key weak.Pointer[txn.Txn]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.by, key)
}
