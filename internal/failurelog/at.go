package failurelog

import (
	"path"
	"strings"
)

// own is how the functions of this module begin.
const own = "github.com/headrace/headrace"

// at says where a handler panicked, as "main.bill (main.go:42)", from the result of debug.Stack: the
// first function below the newest panic that is neither Go's runtime nor headrace; without one, the
// first that is not the runtime. The file is without its folder, which is that of the build. It
// returns "" for a stack that it cannot read.
func at(stack string) (place string) {
	_, below, found := strings.Cut(stack, "\npanic(")
	if !found {
		return ""
	}
	lines := strings.Split(below, "\n")
	for i := 2; i+1 < len(lines); i += 2 { // a function, and its file; those of panic come first
		open := strings.LastIndexByte(lines[i], '(')
		file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		if open <= 0 || strings.HasPrefix(lines[i], "created by ") || strings.HasPrefix(lines[i], "runtime.") || strings.HasPrefix(lines[i], "panic(") {
			continue
		}
		here := lines[i][:open] + " (" + path.Base(strings.ReplaceAll(file, `\`, "/")) + ")"
		if !strings.HasPrefix(here, own+"/") && !strings.HasPrefix(here, own+".") {
			return here
		}
		if place == "" {
			place = here
		}
	}
	return place
}
