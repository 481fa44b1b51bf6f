package intake

import (
	"context"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/store/txn"
)

// noting tells of the letters that are written, which those that were there before are
// not.
type noting struct {
	dlq.Store
	k       *Intake
	message int
}

// Insert implements dlq.Store.
func (n noting) Insert(ctx context.Context, t *txn.Txn, l dlq.Letter) (id int64, written bool, err error) {
	if id, written, err = n.Store.Insert(ctx, t, l); written && n.k.Wrote != nil {
		n.k.Wrote(n.message, l.Class)
	}
	return id, written, err
}
