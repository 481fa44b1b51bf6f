package sinks

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/alerts"
)

// headline is an alert in one line: what became of it and how much it matters, in words, since
// some people see no colours.
func headline(a alerts.Alert) string {
	what := strings.ToUpper(string(cmp.Or(a.Severity, alerts.Warning)))
	switch {
	case a.Phase == alerts.Resolved:
		what = "RESOLVED"
	case a.Phase == alerts.Again:
		what += ", STILL"
	case a.Phase == "" && a.Kind.Good():
		what = "OK"
	}
	return what + ": " + strings.TrimPrefix(cmp.Or(a.Title, a.Text, string(a.Kind)), "Resolved: ")
}

// fact is a value with its name.
type fact struct{ name, value string }

// facts are what an alert belongs to, at most ten.
func facts(a alerts.Alert) (list []fact) {
	count, since, database := "", "", a.Database
	if a.Schema != "" {
		database += ", schema " + a.Schema
	}
	if a.Count > 1 {
		count = strconv.FormatInt(a.Count, 10)
	}
	if !a.Since.IsZero() {
		since = a.Since.UTC().Format(time.RFC3339)
	}
	for _, f := range []fact{
		{"Consumer", a.Consumer}, {"Handler", a.Handler}, {"Topic", a.Topic}, {"Environment", a.Environment}, {"Database", database},
		{"Build", a.Build}, {"Class", a.Class}, {"Group", a.ErrorFingerprint}, {"Count", count}, {"Since", since},
	} {
		if f.value != "" {
			list = append(list, f)
		}
	}
	return list
}
