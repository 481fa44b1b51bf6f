package encode

import (
	"fmt"
	"regexp"
	"strings"
)

// maxRedacted bounds the work on a text; what follows is dropped.
const maxRedacted = 64 << 10

// secrets are what Redact always masks: passwords in URLs, values of parameters that are
// named like a secret, and credentials of an Authorization header.
var secrets = []struct {
	pattern *regexp.Regexp
	masked  string
}{
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]*):[^/\s@]*@`), "$1:***@"},
	{regexp.MustCompile(`(?i)\b((?:password|passwd|pwd|secret|token|access_token|api[_-]?key)["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s"'&;,)}\]]+)`), "$1***"},
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`), "$1 ***"},
}

// Redact masks credentials in the text of an error, and then gives it to f, which may be
// nil. If f panics, nothing is left of the text.
func Redact(text string, f func(string) string) (redacted string) {
	if len(text) > maxRedacted {
		text = strings.ToValidUTF8(text[:maxRedacted], "")
	}
	for _, s := range secrets {
		text = s.pattern.ReplaceAllString(text, s.masked)
	}
	if f == nil {
		return text
	}
	defer func() {
		if r := recover(); r != nil {
			redacted = fmt.Sprintf("(Config.Redact panicked: %T)", r)
		}
	}()
	return f(text)
}
