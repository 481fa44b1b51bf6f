package watching

import (
	"context"
	"strings"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/inspect"
)

// sharedLooks is of how many groups a look asks whether others share their fingerprint.
const sharedLooks = 20

// commands finds the command that shows each group which may begin to fire: it names the handler where
// another one has letters of the same fingerprint. One that fires keeps its command.
func (w *Watch) commands(ctx context.Context, f *facts) error {
	f.commands = make(map[groups.ID]string)
	looks := 0
	for _, g := range f.groups {
		current, fires := f.of(alerts.Alert{Kind: alerts.GroupFailing, Consumer: f.consumer, Handler: g.Handler, ErrorFingerprint: g.ErrorFingerprint})
		switch {
		case fires:
			f.commands[g.ID] = current.Command
		case g.State == groups.Resolved, g.State == groups.Ongoing, g.Muted(f.now), f.stormed(g), looks == sharedLooks:
		default:
			looks++
			words, err := inspect.GroupWords(ctx, w.o.Store, g.ID, quote)
			if err != nil {
				return err
			}
			f.commands[g.ID] = "headrace dlq why " + words
		}
	}
	return nil
}

// quote quotes a name for a shell.
func quote(name string) string { return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'" }
