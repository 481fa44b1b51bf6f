package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/headrace/headrace/internal/migrate"
)

func (m *Main) json() bool { return m.flags.format.value == "json" }

// emit prints value as JSON, or header and rows as a table; cells may contain any text.
func (m *Main) emit(value any, header []string, rows [][]string) error {
	if m.json() {
		return m.emitJSON(value)
	}
	return m.table(header, rows)
}

func (m *Main) emitJSON(value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err = m.out.Write(append(visibleJSON(text), '\n'))
	return err
}

// table prints aligned columns. With a nil header it prints only rows.
func (m *Main) table(header []string, rows [][]string) error {
	w := tabwriter.NewWriter(m.out, 0, 8, 2, ' ', 0)
	if header != nil {
		rows = append([][]string{header}, rows...)
	}
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for _, cell := range row {
			cells = append(cells, visible(cell))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t ")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// line prints a line of text, escaped.
func (m *Main) line(format string, args ...any) error {
	_, err := fmt.Fprintln(m.out, visible(fmt.Sprintf(format, args...)))
	return err
}

// plural returns a number with its noun: one follows 1, others any other number.
func plural[N int | int64](n N, one, others string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, others)
}

// command returns a headrace command line for the same tables.
func (m *Main) command(words string) string {
	if schema := strings.TrimSpace(m.flags.schema); schema != "public" {
		return migrate.Command(words, schema)
	}
	return migrate.Command(words, "")
}

// when formats a time for people and programs; "-" for zero.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// text returns "-" for an empty string, so that columns stay in place.
func text(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
