package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Process is a child.
type Process struct {
	*exec.Cmd
	input io.Closer
	log   *os.File
}

// Start starts this program with a role as its first argument, and args. It logs to
// dir/role.log.
func Start(dir, role string, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, role+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	p := &Process{Cmd: exec.Command(self, append([]string{role}, args...)...), log: log}
	p.Stdout, p.Stderr = log, log
	if p.input, err = p.StdinPipe(); err == nil {
		err = p.Cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return p, nil
}

// Kill kills the child, which must not have ended by itself.
func (p *Process) Kill() error {
	defer func() { _ = p.log.Close() }()
	if err := p.Process.Kill(); err != nil {
		return fmt.Errorf("the worker ended before it was killed; %s says why: %w", p.log.Name(), err)
	}
	_ = p.Wait() // it was killed
	return nil
}

// Stop lets the child end, and waits for it.
func (p *Process) Stop() error {
	defer func() { _ = p.log.Close() }()
	_ = p.input.Close()
	if err := p.Wait(); err != nil {
		return fmt.Errorf("a process failed; %s says why: %w", p.log.Name(), err)
	}
	return nil
}

// UntilParentEnds returns a context that ends when the parent does, or closes our input.
func UntilParentEnds(ctx context.Context) context.Context {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return ctx
}

// Host serves h in this process, at an address of its own, until close is called.
func Host(h http.Handler) (url string, close func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() {
		_ = server.Close()
		<-served
	}, nil
}

// Serve serves h at an address until ctx ends.
func Serve(ctx context.Context, address string, h http.Handler) error {
	server := &http.Server{Addr: address, Handler: h, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		// A connection that a client has opened and not used is waited for, for 5 s (net/http).
		shut, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		ended <- server.Shutdown(shut)
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
