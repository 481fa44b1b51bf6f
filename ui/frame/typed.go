package frame

import (
	"net/url"
	"strings"
)

// Typed is what a person typed into a form of which nothing was done. It belongs to one page, while that is made.
type Typed struct {
	form   string
	fields url.Values
	shown  map[string]bool
}

// TypedInto is what was typed into a form. form is the last word of where it is sent.
func TypedInto(form string, fields url.Values) *Typed {
	return &Typed{form: form, fields: fields, shown: make(map[string]bool)}
}

// Text is something that was typed, and what it was.
type Text struct {
	// Label is what is asked for, and Text what was typed.
	Label, Text string
}

// labels are the fields that take a text, in the order in which they are shown.
var labels = []struct{ field, label string }{
	{"payload", "Payload"}, {"key", "New key"}, {"name", "System"}, {"assignee", "Who looks after it"}, {"link", "Ticket"}, {"note", "Note"}, {"reason", "Reason"},
}

// Was is what was typed into a field of a form, or what it holds otherwise.
func (f Frame) Was(form, field, otherwise string) string {
	if f.Typed == nil || f.Typed.form != form {
		return otherwise
	}
	values, sent := f.Typed.fields[field]
	if !sent || len(values) != 1 {
		return otherwise
	}
	f.Typed.shown[field] = true
	return strings.ReplaceAll(values[0], "\r\n", "\n")
}

// Again reports whether a form comes back with what was typed: it is open then.
func (f Frame) Again(form string) bool { return f.Typed != nil && f.Typed.form == form }

// Left are the texts that were typed and have no field on the page so far.
func (f Frame) Left() (left []Text) {
	if f.Typed == nil {
		return nil
	}
	for _, l := range labels {
		if text := f.Typed.fields.Get(l.field); strings.TrimSpace(text) != "" && !f.Typed.shown[l.field] {
			left = append(left, Text{l.label, text})
		}
	}
	return left
}
