package read

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/ui/view"
)

// Search is the filter of letters that the fields of a form are, and the options of the command that
// does the same. get returns a field; "" if it is empty.
func Search(get func(string) string, now time.Time) (f dlq.Filter, flags string, err error) {
	f = dlq.Filter{
		Consumer: get("consumer"), Handler: get("handler"), Topic: get("topic"), Class: dlq.Class(get("class")), ErrorFingerprint: get("group"),
		Key: get("key"), Build: get("build"), Host: get("host"), Text: get("text"), Where: get("where"),
	}
	switch state := get("state"); state {
	case "", string(dlq.Open):
	case "any":
		f.AnyState = true
	default:
		f.State = dlq.State(state)
	}
	for name, t := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if *t, err = inspect.Moment(get(name), now); err != nil {
			return f, "", fmt.Errorf("%q is %w", encode.Short(get(name), 40), err)
		}
	}
	for _, name := range []string{"consumer", "handler", "topic", "class", "key", "group", "build", "host", "since", "until", "text", "where", "state"} {
		if name != "state" || get(name) != "open" {
			flags += view.Flags(name, get(name))
		}
	}
	return f, flags, nil
}
