package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/store"
)

func (m *Main) checkCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "check", Short: "verify that the tables agree with each other", Args: noArgs,
		Long: `Checks the rules that must hold between the tables, on one snapshot, and prints the result. It reads
whole tables, and changes nothing without --repair. Exit status 1 if a rule is broken. A warning breaks no
rule, but a person should look at it.

--repair counters first counts the letters of all groups again. Use it if data was restored while the
triggers of the tables were missing or ran twice. No letter can be written meanwhile.`,
	}
	m.writes(c)
	repair := &choice{of: []string{"counters"}}
	c.Flags().Var(repair, "repair", "what to make right first: counters")
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		return m.withStore(ctx, func(st openStore) error {
			if repair.value != "" {
				list, err := st.Operations().Groups.List(ctx, groups.Filter{Closed: true})
				if err != nil {
					return err
				}
				if err := m.would(int64(len(list)), "count the letters of %s again", plural(len(list), "group", "groups")); err != nil {
					return err
				}
				if err := st.Operations().Groups.Recount(ctx); err != nil {
					return err
				}
				m.say("the letters of all groups are counted")
			}
			report, err := st.Check(ctx)
			if err != nil {
				return fmt.Errorf("check: %w", err)
			}
			return m.emitReport(report)
		})
	})
	return c
}

type reportView struct {
	OK bool `json:"ok"`
	store.Report
}

func (m *Main) emitReport(report store.Report) error {
	broken := 0
	var rows [][]string
	for _, rule := range report.Rules {
		result := "holds"
		if rule.Violations > 0 {
			broken++
			result = fmt.Sprintf("BROKEN by %d, such as %s", rule.Violations, rule.Example)
		}
		rows = append(rows, []string{rule.Name, rule.Says, result})
	}
	warnings := 0
	for _, rule := range report.Warnings {
		result := "holds"
		if rule.Violations > 0 {
			warnings++
			result = fmt.Sprintf("WARNING of %d, such as %s", rule.Violations, rule.Example)
		}
		rows = append(rows, []string{rule.Name, rule.Says, result})
	}
	if err := m.emit("", reportView{report.OK(), report}, []string{"RULE", "SAYS", "RESULT"}, rows); err != nil {
		return err
	}
	if !m.json() {
		last := plural(len(rows)-warnings, "rule holds", "rules hold")
		if broken > 0 {
			last = fmt.Sprintf("%d of %s broken", broken, plural(len(rows), "rule is", "rules are"))
		}
		if warnings > 0 {
			last += ", with " + plural(warnings, "warning", "warnings")
		}
		if err := m.line("%s", last); err != nil {
			return err
		}
	}
	if broken > 0 {
		return errFound
	}
	return nil
}
