package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// screen is how many lines are surely seen without a pager.
const screen = 24

// pager shows long output on a terminal page by page. The zero command is none.
type pager struct {
	to      io.Writer
	command string
	stderr  io.Writer

	lines   int
	process *exec.Cmd
	pipe    io.WriteCloser
	over    bool // it runs no more
}

// pager returns what pages the output, by PAGER or less; nil off a terminal.
func (m *Main) pager() *pager {
	if m.NoPager || !m.Terminal(m.Stdout) || m.json() {
		return nil
	}
	return &pager{to: m.Stdout, stderr: m.Stderr, command: cmp.Or(m.Getenv("PAGER"), "less -FRX")}
}

// Write starts the pager once there is more than a screen. A pager that cannot be started is none.
func (p *pager) Write(b []byte) (int, error) {
	p.lines += bytes.Count(b, []byte("\n"))
	if p.lines > screen && p.process == nil && !p.over {
		p.start()
	}
	if p.pipe == nil {
		return p.to.Write(b)
	}
	return p.pipe.Write(b)
}

func (p *pager) start() {
	c := exec.Command("sh", "-c", p.command)
	c.Stdout, c.Stderr = p.to, p.stderr
	pipe, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		p.over = true
		return
	}
	signal.Ignore(os.Interrupt) // it is for the pager, which would leave the terminal as it is
	p.process, p.pipe = c, pipe
}

// close waits until the person has read what there is. Later output is not paged.
func (p *pager) close() {
	if p == nil || p.pipe == nil {
		return
	}
	_ = p.pipe.Close()
	_ = p.process.Wait()
	signal.Reset(os.Interrupt)
	p.pipe, p.over = nil, true
}

// gone reports whether an error says that the reader of our output has ended.
func gone(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) }
