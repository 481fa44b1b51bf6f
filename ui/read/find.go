package read

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/ui/view"
)

// traceID is the id of a trace.
var traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// IsTrace reports whether a text is the id of a trace.
func IsTrace(text string) bool { return traceID.MatchString(text) }

// Find returns the path, below the root of the pages, of what a person looks for: a redrive, a letter, a
// group, a trace or a key. operates says that the person may look into the inbox.
func (r Reader) Find(ctx context.Context, what string, operates bool) (string, error) {
	number := strings.TrimPrefix(strings.TrimPrefix(what, "R-"), "r-")
	id, err := strconv.ParseInt(number, 10, 64)
	isNumber := err == nil && id > 0 && len(number) < inspect.AllDigits
	switch {
	case what == "":
		return "/search", nil
	case isNumber && number != what:
		return "/r/" + strconv.FormatInt(id, 10), nil
	case isNumber:
		list, err := r.Store.Letters().List(ctx, dlq.Filter{IDs: []int64{id}, AnyState: true}, 0, 1)
		if err != nil {
			return "", err
		}
		if len(list) > 0 {
			return "/l/" + strconv.FormatInt(id, 10), nil
		}
	}
	if inspect.Digits(what) && len(what) <= inspect.AllDigits {
		list, err := r.Store.Operations().Groups.List(ctx, groups.Filter{Closed: true})
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(list, func(g groups.Group) bool { return strings.HasPrefix(g.ErrorFingerprint, what) }) {
			return "/g/" + what, nil
		}
	}
	switch {
	case IsTrace(what):
		return view.To("", "search", "text", what, "state", "any"), nil
	case operates:
		return view.To("", "inbox", "key", what), nil
	}
	return view.To("", "search", "key", what, "state", "any"), nil
}
