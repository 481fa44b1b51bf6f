package sqlrun

import (
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
)

// Letters returns the first ten arguments of the statements with a filter of letters.
func Letters(d Driver, f dlq.Filter) []any {
	state := string(f.State)
	switch {
	case f.AnyState:
		state = ""
	case state == "":
		state = string(dlq.Open)
	}
	// No column contains text with a NUL byte or in another encoding; as an argument it
	// would be an error.
	text := func(s string) string { return encode.Text(s, 0) }
	args := append([]any{state}, d.Many(append([]int64{}, f.IDs...))...)
	return append(args, text(f.Consumer), text(f.Handler), text(f.Topic), string(f.Class), text(f.ErrorFingerprint),
		text(f.Key), d.Time(f.Since), d.Time(f.Until))
}
