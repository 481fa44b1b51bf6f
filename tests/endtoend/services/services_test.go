package services

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// guardVariable makes this binary a process that starts a broker by that script and waits to be killed.
const guardVariable = "HEADRACE_TEST_GUARD"

// waitTimeout is how long a process of a second may take.
const waitTimeout = time.Minute

func TestMain(m *testing.M) {
	if path := os.Getenv(guardVariable); path != "" {
		os.Exit(guarded(path))
	}
	os.Exit(m.Run())
}

func guarded(path string) int {
	l, err := script{Server{Name: "fake", Variable: "FAKE"}, path}.up(context.Background(), os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(l.Address, l.Ours)
	if os.Getenv(guardVariable+"_STOP") != "" {
		if err := l.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	time.Sleep(time.Hour) // it is killed
	return 0
}

// fakeServices stands in for scripts/services, which would take a minute and a JRE; it writes down what it is asked for.
const fakeServices = `#!/bin/sh
echo "$1 $2" >>"$0.log"
case $1 in
status) [ -e "$0.runs" ] ;;
up) if [ -e "$0.quick" ]; then echo 'fake: 127.0.0.1:1 (native), already running'; else touch "$0.runs"; echo 'fake: 127.0.0.1:1 (native)'; fi ;;
env) echo "export FAKE='127.0.0.1:1'" ;;
down) rm -f "$0.runs"; touch "$0.down" ;;
esac
`

// A broker that was started for a run ends with it, also where that is killed and cannot say so; one that ran before, or
// that another process started meanwhile, is left alone, and is not said to be started.
func TestBrokerEndsWithTheRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, before string
		stop         bool
		prints       string
		starts, down bool
	}{
		{"killed", "", false, "127.0.0.1:1 true", true, true},
		{"ended", "", true, "127.0.0.1:1 true", true, true},
		{"runs already", ".runs", true, "127.0.0.1:1 false", false, false},
		{"another was quicker", ".quick", true, "127.0.0.1:1 false", true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), "services")
			if err := os.WriteFile(script, []byte(fakeServices), 0o755); err != nil {
				t.Fatal(err)
			}
			if tc.before != "" {
				if err := os.WriteFile(script+tc.before, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			printed, stderr := guardedChild(t, self, script, tc.stop)
			if printed != tc.prints {
				t.Errorf("prints %q, want %q", printed, tc.prints)
			}
			if tc.down {
				waitFor(t, script+".down")
			}
			if said := strings.Contains(stderr, "starting a broker"); said != tc.starts {
				t.Errorf("said %q", stderr)
			}
			log, err := os.ReadFile(script + ".log")
			if err != nil || strings.Contains(string(log), "down fake") != tc.down {
				t.Errorf("%v, asked for %q", err, log)
			}
		})
	}
}

// guardedChild runs guarded, kills it where it is not to stop by itself, and returns its first line and what it said.
func guardedChild(t *testing.T, self, script string, stop bool) (printed, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), guardVariable+"="+script)
	if stop {
		cmd.Env = append(cmd.Env, guardVariable+"_STOP=1")
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.WaitDelay = waitTimeout
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := bufio.NewScanner(out)
	line.Scan()
	if !stop {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); stop && err != nil {
		t.Error(err)
	}
	return line.Text(), stderr.String()
}

// waitFor waits until a file is there.
func waitFor(t *testing.T, file string) {
	t.Helper()
	for end := time.Now().Add(waitTimeout); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is not there", file)
		}
	}
}
