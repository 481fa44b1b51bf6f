package alerts

import (
	"fmt"
	"io"
	"strings"
	"text/template/parse"
	"time"
)

// Say returns a with the Title and the Text that o's Texts have for a sink. What a template cannot
// say, or says nothing for, stays as it is.
func (o Options) Say(sink string, a Alert) Alert {
	data := a
	if text, ok := o.text(sink+"/title", "title", data); ok {
		a.Title = strings.Join(strings.Fields(text), " ")
	}
	if text, ok := o.text(sink+"/text", "text", data); ok {
		a.Text = strings.TrimSpace(text)
	}
	return a
}

// text executes the first of the named templates that there is.
func (o Options) text(own, every string, a Alert) (string, bool) {
	if o.Texts == nil {
		return "", false
	}
	t := o.Texts.Lookup(own)
	if t == nil {
		t = o.Texts.Lookup(every)
	}
	var b strings.Builder
	if t == nil || t.Execute(&b, a) != nil || strings.TrimSpace(b.String()) == "" {
		return "", false
	}
	return b.String(), true
}

// checkTexts returns an error that names a template that no sink has, or that cannot be executed.
func (o Options) checkTexts(sinks map[string]bool) error {
	if o.Texts == nil {
		return nil
	}
	full := Alert{
		ID: "id", Key: "key", Kind: GroupFailing, Phase: Firing, Severity: Error, Consumer: "consumer", Handler: "handler", Topic: "topic", Environment: "environment",
		Database: "database", Schema: "schema", Build: "build", Class: "class", ErrorFingerprint: "7f3a", LetterID: 1, Title: "title", Text: "text", Error: "error",
		Command: "command", Links: []Link{{"group", "https://example.com"}}, Count: 2, Groups: 2, Since: time.Unix(0, 0), At: time.Unix(60, 0),
	}
	for _, t := range o.Texts.Templates() {
		if t.Tree == nil || parse.IsEmptyTree(t.Root) {
			continue // what is around the definitions
		}
		sink, kind, ok := strings.Cut(t.Name(), "/")
		if !ok {
			sink, kind = "", t.Name()
		}
		if kind != "title" && kind != "text" || ok && !sinks[sink] && sink != Hook(nil).Name() {
			return fmt.Errorf("option Texts: the template %q is neither \"title\" nor \"text\", nor that of a sink", t.Name())
		}
		for _, a := range []Alert{full, {}} {
			if err := t.Execute(io.Discard, a); err != nil {
				return fmt.Errorf("option Texts: %w", err)
			}
		}
	}
	return nil
}
