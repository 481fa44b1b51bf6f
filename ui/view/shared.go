package view

import (
	"fmt"

	"github.com/headrace/headrace/internal/inspect"
)

// Trait is what letters of a group share, as a row.
type Trait struct {
	inspect.Trait
	// InSays and OutSays are the shares in words, and Bar draws that of the group.
	InSays, OutSays string
	Bar             []Rect
}

// TraitsOf are the rows of what letters share.
func TraitsOf(s inspect.Shared) (rows []Trait) {
	for _, t := range s.Traits {
		in := inspect.Percent(t.In, s.In)
		rows = append(rows, Trait{
			Trait: t, InSays: fmt.Sprintf("%d %%", in), OutSays: fmt.Sprintf("%d %%", inspect.Percent(t.Out, s.Out)), Bar: []Rect{{W: max(2, barWidth*float64(in)/100), Kind: "b-bad"}},
		})
	}
	return rows
}

// Places are traits without their values, each place once.
func Places(traits []inspect.Trait) (list []inspect.Trait) {
	seen := make(map[string]bool)
	for _, t := range traits {
		if !seen[t.Where] {
			seen[t.Where], t.Value = true, ""
			list = append(list, t)
		}
	}
	return list
}
