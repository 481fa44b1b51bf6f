package docs_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMain is the test binary also as the program curl of the tutorial, so that the test
// does not need one.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "curl" {
		os.Exit(curl())
	}
	os.Exit(m.Run())
}

// curl knows -X, -H and -d, and prints the answer.
func curl() int {
	method, header, body := flag.String("X", "GET", ""), flag.String("H", "", ""), flag.String("d", "", "")
	var address string
	for args := os.Args[1:]; len(args) > 0; {
		_ = flag.CommandLine.Parse(args)
		if args = flag.Args(); len(args) > 0 {
			address, args = args[0], args[1:]
		}
	}
	r, err := http.NewRequestWithContext(context.Background(), *method, "http://"+address, strings.NewReader(*body))
	if err == nil {
		if name, value, ok := strings.Cut(*header, ": "); ok {
			r.Header.Set(name, value)
		}
		var answer *http.Response
		if answer, err = http.DefaultClient.Do(r); err == nil {
			_, err = io.Copy(os.Stdout, answer.Body)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		return 1
	}
	return 0
}

// step is a command of the tutorial, and what it prints.
type step struct{ command, output string }

func steps(text string) (all []step) {
	for _, block := range console.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				all = append(all, step{command: strings.TrimSpace(command)})
			} else {
				all[len(all)-1].output += line
			}
		}
	}
	return all
}

// What docs/tutorial.md tells the reader to type is typed here, in its order, and prints what
// the page shows, but for times. What happens in the background has a while to happen.
func TestTutorial(t *testing.T) {
	dir := t.TempDir()
	for _, pkg := range []string{"cmd/headrace", "examples/tutorial"} {
		// Built in a clean clone they would show its revision, which the page cannot know.
		if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-w", "-o", dir+"/", root+pkg).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, out)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "curl")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "shop.db")
	address, logged := start(t, filepath.Join(dir, "tutorial"), file)
	typed := 0
	for _, s := range steps(read(t, "docs/tutorial.md")) {
		command := strings.NewReplacer("localhost:8080", address, "/tmp/shop.db", file).Replace(s.command)
		if strings.HasPrefix(command, "go ") || strings.HasPrefix(command, "export ") {
			continue // done above and below
		}
		typed++
		deadline := time.Now().Add(time.Minute)
		for {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HEADRACE_DSN=sqlite:"+file)
			got, err := cmd.Output()
			problem := differs(s.output, string(got))
			if err != nil && !strings.HasPrefix(s.command, "headrace status") { // which found something
				problem += fmt.Sprintf("\n%v", err)
			}
			if problem == "" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("$ %s\n%s%s", command, got, problem)
			}
			time.Sleep(100 * time.Millisecond) // what is waited for happens in another process
		}
	}
	shown := 0
	for _, block := range logText.FindAllStringSubmatch(read(t, "docs/tutorial.md"), -1) {
		for line := range strings.Lines(block[1]) {
			shown++
			pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")), "…", ".*")
			if !regexp.MustCompile("(?m) " + pattern + "$").MatchString(logged()) {
				t.Errorf("the log has no line %s, it has:\n%s", line, logged())
			}
		}
	}
	if shown != 3 {
		t.Errorf("%d lines of the log are shown", shown)
	}
	if typed < 15 {
		t.Errorf("only %d commands were typed", typed)
	}
}

// logText is what the page shows of the log; … is for any text.
var logText = regexp.MustCompile("(?s)```text\n(.*?)```")

// start runs the shop until the test ends, and returns its address and its log.
func start(t *testing.T, program, file string) (address string, logged func() string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "-addr", "127.0.0.1:0", "-db", file)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = log.Close()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the shop says nothing")
	}
	said, drained := lines.Text(), make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() { // mails
		}
	}()
	t.Cleanup(func() {
		<-drained
		_ = cmd.Wait()
	})
	m := regexp.MustCompile(`http://(\S+),`).FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("the shop says %q", said)
	}
	return m[1], func() string {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
}

var (
	when   = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`)
	blanks = regexp.MustCompile(`[ \t]+`)
)

// differs says which line of the page is not in what was printed; … on the page is for any
// lines.
func differs(page, printed string) string {
	plain := func(s string) string {
		return strings.TrimSpace(blanks.ReplaceAllString(when.ReplaceAllString(s, "TIME"), " "))
	}
	rest := strings.Split(strings.TrimRight(printed, "\n"), "\n")
	loose := false
	for line := range strings.Lines(page) {
		if line = plain(line); line == "…" {
			loose = true
			continue
		}
		for loose && len(rest) > 0 && plain(rest[0]) != line {
			rest = rest[1:]
		}
		if len(rest) == 0 || plain(rest[0]) != line {
			return "the page has this line: " + line
		}
		rest, loose = rest[1:], false
	}
	if page != "" && !loose && len(rest) > 0 && rest[0] != "" {
		return "the page has no such line: " + rest[0]
	}
	return ""
}
