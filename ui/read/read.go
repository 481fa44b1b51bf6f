package read

import (
	"context"
	"net/url"
	"strings"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/store"
)

// Reader reads for pages. It is safe for concurrent use.
type Reader struct {
	// Store is the database.
	Store store.Store
	// TraceURL and RunbookURL are as in ui.Options.
	TraceURL, RunbookURL string
}

// Idle reports whether no process of a consumer runs: then nothing can be asked for that its processes
// do.
func (r Reader) Idle(ctx context.Context, consumer string) (bool, error) {
	builds, err := inspect.Running(ctx, r.Store, consumer)
	return len(builds) == 0, err
}

// Web is a link that a person wrote, if it is one to the web; otherwise "".
func Web(link string) string {
	if u, err := url.Parse(link); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return u.String()
	}
	return ""
}

// fill puts values into the places of a URL, escaped; "" for no URL, or one that is not of the web.
func fill(template string, pairs ...string) string {
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = url.PathEscape(pairs[i])
	}
	return Web(strings.NewReplacer(pairs...).Replace(template))
}

// Texts reports whether all values of a form or an address are texts that a database may be asked
// for: valid UTF-8 without NUL.
func Texts(form url.Values) bool {
	for _, values := range form {
		for _, value := range values {
			if !encode.Clean(value) {
				return false
			}
		}
	}
	return true
}
