package main

import (
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/audit"
)

// itemNames are the commands that list what has names, and what -o name prints of an item: the name, number
// or key that other commands take. All others refuse -o name before they do anything.
var itemNames = map[string]func(item any) string{
	"audit ls":        func(item any) string { return number(item.(audit.Row).ID) },
	"backlog groups":  func(item any) string { return item.(rowGroupView).ErrorFingerprint },
	"backlog ls":      func(item any) string { return number(item.(rowView).ID) },
	"consumer ls":     func(item any) string { return item.(*consumerView).Consumer },
	"dlq groups":      func(item any) string { return item.(groupView).ErrorFingerprint },
	"dlq ls":          func(item any) string { return number(item.(letterView).ID) },
	"inbox missing":   nil, // it prints keys by itself
	"outbox parked":   func(item any) string { return number(item.(parkedView).Row) },
	"outbox status":   func(item any) string { return item.(boxView).Outbox },
	"redrive letters": func(item any) string { return number(item.(redrivenView).LetterID) },
	"redrive ls":      func(item any) string { return item.(redriveView).Name },
	"schedule ls":     func(item any) string { return item.(scheduleView).Name },
	"steps find":      func(item any) string { return item.(stepView).Key },
	"steps ls":        func(item any) string { return item.(stepView).Key },
	"system ls":       func(item any) string { return item.(systemView).System },
}

// pathOf is how a command is called, without the name of the program.
func pathOf(c *cobra.Command) string {
	_, words, _ := strings.Cut(c.CommandPath(), " ")
	return words
}

// namesOnly reports whether the output is the names of what is listed.
func (m *Main) namesOnly() bool { return m.flags.format.value == "name" }

// hasNames refuses -o name for a command that lists nothing that has names.
func (m *Main) hasNames(c *cobra.Command) error {
	if _, ok := itemNames[m.path]; ok || !m.namesOnly() {
		return nil
	}
	return usagef("-o name: %s has no names to print; give -o table, json or ndjson", c.CommandPath())
}

// emitNames prints the name of each item of a list, once.
func (m *Main) emitNames(list any) error {
	items, seen := reflect.ValueOf(list), make(map[string]bool)
	for i := range items.Len() {
		name := itemNames[m.path](items.Index(i).Interface())
		if seen[name] {
			continue
		}
		seen[name] = true
		if err := m.line("%s", name); err != nil {
			return err
		}
	}
	return nil
}
