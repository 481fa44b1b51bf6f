package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/headrace/headrace/internal/migrate"
)

// json reports whether programs read the output.
func (m *Main) json() bool { return m.oneObject() || m.lines() }

// oneObject and lines report how: as one JSON object, or as one of each line.
func (m *Main) oneObject() bool { return m.flags.format.value == "json" }

func (m *Main) lines() bool { return m.flags.format.value == "ndjson" }

// emit prints value as JSON; or header and rows as a table, whose cells may contain any text;
// or the names of its items (itemNames). name is as in envelope; a list of that
// name is one line for each item where JSON is one.
func (m *Main) emit(name string, value any, header []string, rows [][]string) error {
	list := reflect.ValueOf(value)
	switch {
	case m.namesOnly():
		return m.emitNames(value)
	case !m.json():
		return m.table(header, rows)
	case !m.lines() || name == "" || list.Kind() != reflect.Slice:
		return m.emitJSON(name, value)
	}
	for i := range list.Len() {
		if err := m.emitJSONLine("", list.Index(i).Interface()); err != nil {
			return err
		}
	}
	return nil
}

// emitPage is emit for a list in an object that says more about it.
func emitPage[T any](m *Main, object any, list []T, header []string, rows [][]string) error {
	if m.oneObject() {
		return m.emitJSON("", object)
	}
	return m.emit("items", list, header, rows)
}

// jsonVersion is the member v of all JSON. It changes when a member changes its meaning or
// goes; a new member is no new version.
const jsonVersion = 1

// envelope returns an object with the member v: value's members, which is then an object,
// or value as the member called name. A nil slice becomes an empty array.
func envelope(name string, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode the output: %w", err)
	}
	switch {
	case name != "" && string(text) == "null":
		text = fmt.Appendf(nil, "{%q:[]}", name)
	case name != "":
		text = fmt.Appendf(nil, "{%q:%s}", name, text)
	}
	return fmt.Appendf(nil, `{"v":%d,%s`, jsonVersion, text[1:]), nil
}

// emitJSON prints value in its envelope.
func (m *Main) emitJSON(name string, value any) error {
	if m.lines() {
		return m.emitJSONLine(name, value)
	}
	text, err := envelope(name, value)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err = m.out.Write(append(visibleJSON(indented.Bytes()), '\n'))
	return err
}

// emitJSONLine prints value in its envelope on one line, as one of many.
func (m *Main) emitJSONLine(name string, value any) error {
	text, err := envelope(name, value)
	if err != nil {
		return err
	}
	_, err = m.out.Write(append(visibleJSON(text), '\n'))
	return err
}

// emitPart prints items as a part of an object of JSON whose only list has that name, so all of them need not
// be held.
func emitPart[T any](m *Main, name string, items []T, first bool) error {
	for i, item := range items {
		before := ","
		if first && i == 0 {
			before = fmt.Sprintf("{\n  \"v\": %d,\n  %q: [", jsonVersion, name)
		}
		text, err := json.MarshalIndent(item, "    ", "  ")
		if err != nil {
			return fmt.Errorf("encode the output: %w", err)
		}
		if _, err := m.out.Write(visibleJSON(append([]byte(before+"\n    "), text...))); err != nil {
			return err
		}
	}
	return nil
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

// paragraph prints a line after an empty one.
func (m *Main) paragraph(says string) error {
	if err := m.line(""); err != nil {
		return err
	}
	return m.line("%s", says)
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

// when formats a time where it is never relative; "-" for zero.
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

// next says which command comes next; where the command is refused or fails, after it has said that.
func (m *Main) next(words string, args ...any) {
	if m.refused {
		m.later = fmt.Sprintf(words, args...)
		return
	}
	if m.flags.format.value == "table" && m.out.Flush() == nil { // else there is no reader
		m.say("next: %s", m.command(fmt.Sprintf(words, args...)))
	}
}
