package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// server is one that this process started for itself.
type server struct {
	script string
	dir    string
	name   string // in scripts/services
	at     string // the DSN or address
}

// startServer starts the server that scripts/services knows by name, apart from any that
// runs already; variable is the one with its address.
func startServer(ctx context.Context, name, variable string) (*server, error) {
	script, err := findScript()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "headrace-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	s := &server{script: script, dir: dir, name: name}
	if _, err := s.call(ctx, "up"); err != nil {
		s.stop()
		return nil, err
	}
	exports, err := s.call(ctx, "env")
	if err != nil {
		s.stop()
		return nil, err
	}
	_, value, _ := strings.Cut(exports, variable+"=")
	value, _, _ = strings.Cut(value, "\n")
	if s.at = strings.Trim(value, `'"`); s.at == "" {
		s.stop()
		return nil, fmt.Errorf("scripts/services env names no %s", variable)
	}
	return s, nil
}

// stop ends the server and removes what it wrote.
func (s *server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := s.call(ctx, "down"); err != nil {
		fmt.Fprintln(os.Stderr, "bench: stop "+s.name+":", err)
		return
	}
	_ = os.RemoveAll(s.dir) // lies in the system's temporary directory
}

func (s *server) call(ctx context.Context, verb string) (string, error) {
	c := exec.CommandContext(ctx, s.script, verb, s.name)
	c.Env = append(os.Environ(), "HEADRACE_SERVICES_DIR="+s.dir)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/services %s %s: %w", verb, s.name, err)
	}
	return string(out), nil
}

// findScript looks for scripts/services from the working directory upwards.
func findScript() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working directory: %w", err)
	}
	for {
		script := filepath.Join(dir, "scripts", "services")
		if _, err := os.Stat(script); err == nil {
			return script, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no scripts/services above the working directory: give -dsn")
		}
		dir = parent
	}
}
