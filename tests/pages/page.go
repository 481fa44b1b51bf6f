package pages

import (
	"fmt"
	"strings"
)

// Replace returns text with content between the marks of name. An error says which marks
// are missing.
func Replace(text, name, content string) (string, error) {
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("the page has no lines %q and %q", strings.TrimSpace(begin), end)
	}
	return before + begin + content + end + after, nil
}
