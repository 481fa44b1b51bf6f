package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/migrate"
)

// printDetail prints a letter for people.
func (m *Main) printDetail(v detailView) error {
	rows := [][]string{
		{"letter", fmt.Sprintf("%d, %s since %s", v.ID, v.State, m.since(v.ChangedAt))},
		{"class", string(v.Class)}, {"consumer", v.Consumer}, {"handler", v.Handler},
		{"key", v.Key}, {"inbox", text(string(v.Inbox))}, {"order key", text(v.OrderKey)}, {"message id", text(v.MessageID)},
		{"topic", text(v.Topic)}, {"coordinates", text(v.Coordinates.String())}, {"fingerprint", v.Fingerprint},
	}
	if v.Class == dlq.Conflict {
		rows = append(rows, []string{"first fingerprint", v.FirstFingerprint})
	}
	if v.Deliveries > 0 {
		rows = append(rows, []string{"no own key", "came " + plural(v.Deliveries, "time", "times")})
	}
	if v.PreviousID != 0 {
		rows = append(rows, []string{"redriven before", fmt.Sprintf("%s, the last time from letter %d", plural(v.Redrives, "time", "times"), v.PreviousID)})
	}
	if v.NextID != 0 {
		rows = append(rows, []string{"dead again", fmt.Sprintf("as letter %d", v.NextID)})
	}
	on := strings.TrimSpace(v.Host + " " + v.Build)
	if v.Environment != "" {
		on += " in " + v.Environment
	}
	rows = append(rows, [][]string{
		{"failed", fmt.Sprintf("%s to %s, %s", m.when(v.FirstFailure), m.when(v.LastFailure), plural(v.Attempts, "attempt", "attempts"))},
		{"on", text(on)}, {"error fingerprint", text(v.Group)}, {"error", text(v.Error)},
	}...)
	rows = append(rows, contentRows(v.bodyView)...)
	if err := m.table(nil, rows); err != nil {
		return err
	}
	if err := m.printRuns(v); err != nil {
		return err
	}
	if err := m.printStepsOf(v.Key, v.Steps); err != nil {
		return err
	}
	if err := m.printBody(v.bodyView); err != nil || v.Edited == nil || v.Edited.Payload == nil {
		return err
	}
	if err := m.section(fmt.Sprintf("rev %d", v.Rev), []string{"  a redrive sends this:"}); err != nil {
		return err
	}
	return m.printBody(*v.Edited)
}

// printStepsOf prints the steps of the message with this key.
func (m *Main) printStepsOf(key string, steps []stepView) error {
	if len(steps) == 0 {
		return nil
	}
	var rows [][]string
	for _, step := range steps {
		rows = append(rows, step.line())
	}
	if err := m.section("steps", []string{"  see " + m.command("steps "+migrate.Quote(key))}); err != nil {
		return err
	}
	return m.table(stepColumns, rows)
}

// section prints lines under a title; nothing if there are none.
func (m *Main) section(title string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	for _, line := range append([]string{"", title}, lines...) {
		if err := m.line("%s", line); err != nil {
			return err
		}
	}
	return nil
}

func (m *Main) attemptLines(runs []attemptView) []string {
	var lines []string
	for _, a := range runs {
		lines = append(lines, fmt.Sprintf("  %d  %s  %s  %s  %s", a.N, m.when(a.At), a.Class, a.Duration.Round(time.Millisecond), a.Error))
	}
	return lines
}

func (m *Main) printRuns(v detailView) error {
	var trail, edits []string
	for _, e := range v.Edits {
		edits = append(edits, fmt.Sprintf("  %d  %s  by %s: %s", e.Rev, m.when(e.At), e.By, text(e.Reason)))
	}
	runs := m.attemptLines(v.Runs)
	for _, a := range v.Trail {
		line := fmt.Sprintf("  %s  %s by %s: %s", m.when(a.At), a.Action, a.By, text(a.Reason))
		if a.RedriveID != 0 {
			line += ", in R-" + number(a.RedriveID)
		}
		if a.Detail != "" {
			line += ", " + a.Detail
		}
		trail = append(trail, line)
	}
	for _, part := range []struct {
		title string
		lines []string
	}{
		{"chain", indent(v.Chain)}, {"attempts", runs}, {"edits", edits}, {"decisions", trail}, {"stack", indent(splitLines(v.Stack))},
	} {
		if err := m.section(part.title, part.lines); err != nil {
			return err
		}
	}
	return nil
}

// contentRows says what a message holds.
func contentRows(v bodyView) [][]string {
	if v.Hidden {
		return [][]string{{"headers", "hidden from this login"}, {"payload", "hidden from this login"}}
	}
	return [][]string{{"headers", text(strings.Join(v.HeaderNames, ", "))}, {"payload", plural(v.PayloadBytes, "byte", "bytes")}}
}

// printBody prints headers and payload if requested. It indents each line, so that none
// looks like our own output.
func (m *Main) printBody(v bodyView) error {
	if v.Payload == nil {
		return nil
	}
	lines := []string{"", "headers"}
	for _, name := range v.HeaderNames {
		lines = append(lines, "  "+strconv.Quote(name)+": "+strconv.Quote(v.Headers[name]))
	}
	lines = append(lines, "", "payload")
	if body := *v.Payload; utf8.Valid(body) {
		lines = append(lines, indent(splitLines(string(body)))...)
	} else {
		lines = append(lines, indent(splitLines(hex.Dump(body)))...)
	}
	for _, line := range lines {
		if err := m.line("%s", line); err != nil {
			return err
		}
	}
	return nil
}

func indent(lines []string) []string {
	var list []string
	for _, line := range lines {
		list = append(list, "  "+strings.ReplaceAll(line, "\t", "    "))
	}
	return list
}

func splitLines(s string) []string {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
