package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq/job"
)

// redrivenView is a letter of a redrive as JSON.
type redrivenView struct {
	LetterID int64       `json:"letter_id"`
	Outcome  job.Outcome `json:"outcome"`
	Why      string      `json:"why"`
	Key      string      `json:"key"`
	Next     int64       `json:"next_letter_id,omitempty"`
	Due      time.Time   `json:"due,omitzero"`
	At       time.Time   `json:"at,omitzero"`

	before bool // it was decided before
}

func viewRedriven(e job.Entry) redrivenView {
	return redrivenView{LetterID: e.LetterID, Outcome: e.State, Why: e.Why, Key: e.Key, Next: e.Next, At: e.At}
}

// redriven returns letters of a redrive, with what becomes of those under way.
func redriven(ctx context.Context, st openStore, id int64, state job.Outcome, after int64, most int) ([]redrivenView, error) {
	views := []redrivenView{}
	list, err := st.Operations().Redrives.Entries(ctx, id, state, after, most)
	if err != nil || len(list) == 0 {
		return views, err
	}
	looks, err := st.Operations().Redrives.LooksOf(ctx, id, after, list[len(list)-1].LetterID, most)
	now := make(map[int64]job.Look)
	for _, l := range looks {
		now[l.LetterID] = l
	}
	for _, e := range list {
		v := viewRedriven(e)
		if l, ok := now[e.LetterID]; ok {
			v.Outcome, v.Next, v.Due = l.Outcome(), l.NextID, l.Due
		}
		views = append(views, v)
	}
	return views, err
}

func (m *Main) redriveLettersCommand() *cobra.Command {
	c := &cobra.Command{Use: "letters R-N", Short: "list the letters of a redrive, and what became of each", Args: one("redrive")}
	state := choice{of: []string{"queued", "sent", "succeeded", "failed", "unknown", "skipped"}}
	c.Flags().Var(&state, "state", "only those: "+strings.Join(state.of, ", "))
	most := limit{n: 100, most: 10_000}
	c.Flags().Var(&most, "limit", "at most so many")
	after := &limit{most: 1<<63 - 1}
	c.Flags().Var(after, "after", "only letters with a higher id")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		return m.withRedrive(ctx, args[0], func(st openStore, r job.Redrive) error {
			views, err := redriven(ctx, st, r.ID, job.Outcome(state.value), int64(after.n), most.n)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, v := range views {
				next := "-"
				if v.Next > 0 {
					next = strconv.FormatInt(v.Next, 10)
				}
				rows = append(rows, []string{strconv.FormatInt(v.LetterID, 10), string(v.Outcome), next, m.when(v.Due), short(v.Key, 40), short(text(v.Why), 80)})
			}
			if err := m.emit("letters_of_redrive", views, []string{"LETTER", "OUTCOME", "NEXT", "DUE", "KEY", "WHY"}, rows); err != nil {
				return err
			}
			dead := slices.IndexFunc(views, func(v redrivenView) bool { return v.Next > 0 })
			switch skipped := slices.IndexFunc(views, func(v redrivenView) bool { return v.Outcome == job.Skipped }); {
			case dead >= 0:
				m.next("dlq show %d", views[dead].Next)
			case skipped >= 0:
				m.next("dlq show %d", views[skipped].LetterID)
			default:
				m.next("redrive show %s", job.Name(r.ID))
			}
			return nil
		})
	})
	return c
}
