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

// server is a PostgreSQL that this process started for itself.
type server struct {
	script string
	dir    string
	dsn    string
}

// startServer starts one with scripts/services, apart from any that runs already.
func startServer(ctx context.Context) (*server, error) {
	script, err := findScript()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "headrace-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	s := &server{script: script, dir: dir}
	if _, err := s.call(ctx, "up"); err != nil {
		s.stop()
		return nil, err
	}
	exports, err := s.call(ctx, "env")
	if err != nil {
		s.stop()
		return nil, err
	}
	_, value, _ := strings.Cut(exports, "HEADRACE_TEST_POSTGRES=")
	value, _, _ = strings.Cut(value, "\n")
	if s.dsn = strings.Trim(value, `'"`); s.dsn == "" {
		s.stop()
		return nil, errors.New("scripts/services env names no HEADRACE_TEST_POSTGRES")
	}
	return s, nil
}

// stop ends the server and removes what it wrote.
func (s *server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := s.call(ctx, "down"); err != nil {
		fmt.Fprintln(os.Stderr, "bench: stop PostgreSQL:", err)
		return
	}
	_ = os.RemoveAll(s.dir) // lies in the system's temporary directory
}

func (s *server) call(ctx context.Context, verb string) (string, error) {
	c := exec.CommandContext(ctx, s.script, verb, "postgres")
	c.Env = append(os.Environ(), "HEADRACE_SERVICES_DIR="+s.dir)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/services %s postgres: %w", verb, err)
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
