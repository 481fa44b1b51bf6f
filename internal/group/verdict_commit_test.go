package group

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/retry"
)

// DESIGN §2 and §3 Verdicts: every arrow is one commit. Whoever looks after any commit
// sees all of a verdict, its attempt, where the message is and what owns it, or nothing.
func TestVerdictIsOneCommit(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"dead":  {retry.Permanent(errBoom), "commit 1: dead, attempts 1, letters [permanent], backlog 0"},
		"later": {retry.After(time.Hour, errBoom), "commit 0: waiting, attempts 1, letters [], backlog 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(context.Context, *headrace.Tx, string) error { return tt.err })
			var seen []string
			r.after = func(call string) error {
				if !strings.HasPrefix(call, "commit") {
					return nil
				}
				depth, err := r.Store.Backlog().Depth(t.Context(), "c")
				seen = append(seen, fmt.Sprintf("%s: %s, attempts %d, letters [%s], backlog %d",
					call, r.state("m"), r.attempts("m"), r.letters("m"), depth.Delayed))
				return err
			}
			r.process("m")
			want(t, "what was seen after each commit", strings.Join(seen, "; "), tt.want)
		})
	}
}
