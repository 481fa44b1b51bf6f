package main

import (
	"net"
	"strings"
	"testing"
	"time"
)

// The shell is given what the database has, and nothing, quickly and silently, without one.
func TestCompletion(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "1")
	p.seed("instance", "billing")
	completes := func(want string, args ...string) {
		t.Helper()
		p.run(exitDone, nil, append([]string{"__complete"}, args...)...)
		if first, _, _ := strings.Cut(p.stdout.String(), "\n"); !strings.HasPrefix(first, want) || want == "" && first != ":4" {
			t.Errorf("%q: %q, want %q", args, p.stdout.String(), want)
		}
	}
	const group = "a276"
	completes(group, "dlq", "why", "")
	completes(group, "dlq", "redrive", "a2")
	if !strings.Contains(p.stdout.String(), "billing/orders.paid: charge k1") {
		t.Errorf("no error: %s", &p.stdout)
	}
	completes(group, "dlq", "export", "a2")
	if completes(":0", "dlq", "import", ""); strings.Contains(p.stdout.String(), group) { // the shell's own, of files
		t.Errorf("%s", &p.stdout)
	}
	completes("", "dlq", "why", "b")
	completes("", "dlq", "why", group, "")
	completes("billing", "dlq", "ls", "--consumer", "")
	completes("billing", "consumer", "pause", "b")
	completes("orders.paid", "dlq", "why", "--handler", "")
	completes("v1.2.3", "dlq", "rehearse", "--build", "")
	completes("", "redrive", "show", "")
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if p.run(exitDone, nil, "completion", shell); !strings.Contains(p.stdout.String(), "headrace") {
			t.Errorf("%s: %s", shell, &p.stdout)
		}
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	p.dsn = "postgres://" + silent.Addr().String() + "/nothing?sslmode=disable"
	start := time.Now()
	completes("", "dlq", "why", "")
	if took := time.Since(start); took < completionTime || took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
