package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
)

// throughCommand redrives with dlq redrive --direct, and waits until all are applied. The command is
// built before the clock starts.
func (l *lab) throughCommand(ctx context.Context, _ opened, c *consumer.Consumer, f dlq.Filter, want int) (figure Figure, err error) {
	dir, err := os.MkdirTemp("", "headrace-bench")
	if err != nil {
		return Figure{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "headrace")
	if out, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-w", "-o", program, "github.com/headrace/headrace/cmd/headrace").CombinedOutput(); err != nil {
		return Figure{}, fmt.Errorf("build the command: %w: %s", err, out)
	}
	command := exec.CommandContext(ctx, program, "dlq", "redrive", "--direct", "--yes", "--group", f.ErrorFingerprint, "--consumer", f.Consumer, "--reason", "the service answers again")
	command.Env = append(os.Environ(), "HEADRACE_DSN="+l.dsn)
	watch := l.startWatch(ctx)
	if out, err := command.CombinedOutput(); err != nil {
		return Figure{}, fmt.Errorf("%w: %s", err, out)
	}
	err = appliedBy(c).await(ctx, want, nil)
	return watch.figure(ctx, want, &histogram{}), err
}
