package dlq

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/headrace/headrace/internal/encode"
)

// maxStack bounds a stored stack, in bytes: some eighty frames.
const maxStack = 16 << 10

// CapStack makes a stack fit a text column: at most 16 KiB, cut after a whole line.
// The frames next to the panic are kept.
func CapStack(stack []byte) string {
	if len(stack) <= maxStack {
		return encode.Text(string(stack), maxStack) // escapes make it longer
	}
	const room = 40 // for the mark
	kept := stack[:maxStack-room]
	if end := bytes.LastIndexByte(kept, '\n'); end > 0 {
		kept = kept[:end]
	}
	mark := fmt.Sprintf("\n[… %d bytes more]", len(stack)-len(kept))
	return encode.Text(string(kept)+mark, maxStack)
}

// firstFrame returns the name of the function that panicked, from what debug.Stack
// returned: the first one outside of the runtime below the newest panic. Names
// survive a rebuild; line numbers and addresses do not. "" where there is none.
func firstFrame(stack []byte) string {
	frames := functions(stack)
	for i, name := range frames {
		if name == "panic" {
			frames = frames[i+1:]
			break
		}
	}
	for _, name := range frames {
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
