package dlq

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/encode"
)

// maxStack bounds a stored stack, in bytes: about eighty frames.
const maxStack = 16 << 10

// CapStack makes a stack fit a text column: at most 16 KiB, cut after a whole line. It
// keeps the frames next to the panic.
func CapStack(stack []byte) string {
	if len(stack) <= maxStack {
		return encode.Text(string(stack), maxStack) // escapes make the text longer
	}
	const room = 40 // for the mark
	kept := stack[:maxStack-room]
	if end := bytes.LastIndexByte(kept, '\n'); end > 0 {
		kept = kept[:end]
	}
	mark := fmt.Sprintf("\n[… %d bytes more]", len(stack)-len(kept))
	return encode.Text(string(kept)+mark, maxStack)
}

// firstFrame returns the name of the function that panicked, from the result of
// debug.Stack: the first one outside of package runtime below the newest panic; "" if
// there is none. Names survive a rebuild; line numbers and addresses do not.
func firstFrame(stack []byte) string {
	frames := functions(stack)
	for _, name := range frames[slices.Index(frames, "panic")+1:] {
		if !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "runtime/debug.") {
			return name
		}
	}
	return ""
}

// functions returns the functions of a stack, newest call first.
func functions(stack []byte) []string {
	var names []string
	for line := range strings.Lines(string(stack)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '\t' || line[0] == ' ' ||
			strings.HasPrefix(line, "goroutine ") || strings.HasPrefix(line, "created by ") {
			continue
		}
		if open := strings.LastIndexByte(line, '('); open > 0 {
			names = append(names, line[:open])
		}
	}
	return names
}
