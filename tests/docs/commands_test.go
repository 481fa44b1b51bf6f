package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	console = regexp.MustCompile("(?s)```console\n(.*?)```")
	code    = regexp.MustCompile("`([^`\n]+)`")
)

// commands are the command lines that a page shows: those after a prompt, and those in the
// text that begin with the name of a program.
func commands(text string) (lines []string) {
	for _, block := range console.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			if after, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok {
				lines = append(lines, after)
			}
		}
	}
	rest := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(text, "")
	for _, m := range code.FindAllStringSubmatch(rest, -1) {
		lines = append(lines, m[1])
	}
	return lines
}

// Every command that the pages show exists: the targets of make, the packages of go run
// and go test, and the commands of headrace with their flags.
func TestCommands(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "headrace")
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", binary, root+"cmd/headrace").CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	makefile := read(t, "Makefile")
	names, texts := pages(t)
	checked := 0
	for _, name := range names {
		for _, line := range commands(texts[name]) {
			line, _, _ = strings.Cut(line, "  #")
			for _, part := range regexp.MustCompile(`&&|;|\|`).Split(line, -1) {
				words := program(strings.Fields(part))
				if len(words) == 0 {
					continue
				}
				var problem string
				switch words[0] {
				case "make":
					problem = checkMake(makefile, words[1:])
				case "go":
					problem = checkGo(words[1:])
				case "headrace":
					problem = checkHeadrace(t, binary, words[1:])
				default:
					continue
				}
				checked++
				if problem != "" {
					t.Errorf("%s: %q: %s", name, part, problem)
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d commands were found", checked)
	}
}

// program drops what stands before the program: variables of the environment.
func program(words []string) []string {
	for len(words) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) > 2 && words[0] == "go" && words[1] == "run" && words[2] == "./cmd/headrace" {
		return append([]string{"headrace"}, words[3:]...)
	}
	return words
}

func checkMake(makefile string, targets []string) string {
	for _, target := range targets {
		if !strings.Contains(target, "=") && !strings.Contains(makefile, "\n"+target+":") {
			return "make has no target " + target
		}
	}
	return ""
}

func checkGo(words []string) string {
	for _, w := range words {
		if strings.HasPrefix(w, "./") {
			if _, err := os.Stat(root + strings.TrimSuffix(w, "/...")); err != nil {
				return w + " does not exist"
			}
		}
	}
	return ""
}

// checkHeadrace asks the command itself for its help: that of a missing subcommand is the
// help of its parent.
func checkHeadrace(t *testing.T, binary string, words []string) string {
	t.Helper()
	var path, flags []string
	for _, w := range words {
		switch {
		case strings.HasPrefix(w, "--"):
			flag, _, _ := strings.Cut(w, "=")
			flags = append(flags, flag)
		case len(flags) == 0 && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(w) && len(path) < 2:
			path = append(path, w)
		}
	}
	out, err := exec.Command(binary, append(path, "--help")...).CombinedOutput()
	if err != nil {
		return string(out)
	}
	help := string(out)
	if len(path) > 0 && !strings.Contains(help, "headrace "+strings.Join(path, " ")) {
		return "there is no such command"
	}
	for _, flag := range flags {
		if !regexp.MustCompile(regexp.QuoteMeta(flag) + `\b`).MatchString(help) {
			return "there is no flag " + flag
		}
	}
	return ""
}
