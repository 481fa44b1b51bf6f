package inspect

import (
	"maps"
	"slices"
	"strings"

	"github.com/headrace/headrace/dlq"
)

// Words says a filter of letters in words; "" if it chooses all open ones.
func Words(f dlq.Filter) string {
	var words []string
	add := func(name, value string) {
		if value != "" {
			words = append(words, name+" "+value)
		}
	}
	add("consumer", f.Consumer)
	add("handler", f.Handler)
	add("topic", f.Topic)
	add("class", string(f.Class))
	add("error fingerprint", f.ErrorFingerprint)
	add("key", f.Key)
	add("build", f.Build)
	add("host", f.Host)
	add("text", f.Text)
	for _, name := range slices.Sorted(maps.Keys(f.Headers)) {
		add("header", name+"="+f.Headers[name])
	}
	add("where", f.Where)
	if !f.Since.IsZero() {
		add("since", f.Since.UTC().Format(timeForm))
	}
	if !f.Until.IsZero() {
		add("until", f.Until.UTC().Format(timeForm))
	}
	return strings.Join(words, ", ")
}
