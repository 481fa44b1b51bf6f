package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/headrace/headrace/internal/jsontext"
	"github.com/headrace/headrace/retry"
)

// decode decodes what an earlier run has recorded, maybe one of another build. A build may
// add fields or remove some: the others read its results. After both at once, as when a
// field is renamed, a value would silently be zero: that is an error. The error is
// permanent, because what is recorded stays.
func decode[T any](b []byte) (v T, err error) {
	strict := json.NewDecoder(bytes.NewReader(b))
	strict.DisallowUnknownFields()
	if strict.Decode(&v) == nil {
		return v, nil
	}
	var none, read T
	if err = json.Unmarshal(b, &read); err == nil {
		err = jsontext.Unread(b, read)
	}
	if err != nil {
		return none, retry.Permanent(fmt.Errorf("what is recorded does not fit %T: %w", none, err))
	}
	return read, nil
}
