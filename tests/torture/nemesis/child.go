//go:build unix

package nemesis

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/tests/torture/workload"
)

// Exit says how a child ended.
type Exit struct {
	// Killed: by SIGKILL. Point is where, if it killed itself.
	Killed bool
	Point  fault.Point
	// Ended: in order, with Left goroutines over. Err is what it said otherwise.
	Ended bool
	Left  int
	Err   string
}

// Child is a process.
type Child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ready chan struct{}
	once  sync.Once
	done  chan struct{}
	exit  Exit // after done
	mu    sync.Mutex
	held  int // times that a hog held the lock
}

// launch starts this program again as a child. What it logs goes to the file.
func launch(order workload.Order, logTo string) (*Child, error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(logTo, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	c := &Child{cmd: exec.Command(self), ready: make(chan struct{}), done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), workload.Variable+"="+string(text))
	c.cmd.Stderr = log
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a child: %w", err)
	}
	go c.follow(out)
	return c, nil
}

// follow reads what the child says until it has ended.
func (c *Child) follow(out io.Reader) {
	var e Exit
	for lines := bufio.NewScanner(out); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case workload.Ready:
			c.once.Do(func() { close(c.ready) })
		case workload.Dies:
			if rest == "held" {
				c.mu.Lock()
				c.held++
				c.mu.Unlock()
				continue
			}
			e.Point = fault.Point(rest)
		case workload.Ended:
			e.Ended = true
			e.Left, _ = strconv.Atoi(rest)
		case workload.Failed:
			e.Err = rest
		}
	}
	err := c.cmd.Wait()
	var status *exec.ExitError
	if errors.As(err, &status) {
		s, ok := status.Sys().(syscall.WaitStatus)
		e.Killed = ok && s.Signaled() && s.Signal() == syscall.SIGKILL
	}
	if err != nil && !e.Killed && e.Err == "" {
		e.Err = err.Error()
	}
	c.exit = e
	c.once.Do(func() { close(c.ready) })
	close(c.done)
}

// Arm has the child kill itself when it reaches the point for the nth time from now.
func (c *Child) Arm(p fault.Point, nth int) { _, _ = fmt.Fprintln(c.stdin, p, nth) }

// Signal sends a signal.
func (c *Child) Signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// Wait waits for the end of the child; false if that takes longer than d.
func (c *Child) Wait(d time.Duration) (Exit, bool) {
	select {
	case <-c.done:
		return c.exit, true
	case <-time.After(d):
		return Exit{}, false
	}
}

// Held is how often a hog has held the lock.
func (c *Child) Held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}
