package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// process is this very program as a child process. It works until its standard input
// ends, so that it ends with its parent, however that ends.
type process struct {
	cmd   *exec.Cmd
	input io.Closer
	out   bytes.Buffer
	ended chan struct{} // closed when it is gone
	err   error         // of its end
}

func startProcess(o assignment) (*process, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(program), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	p.cmd.Stdout, p.cmd.Stderr = &p.out, os.Stderr
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// kill ends the process at once (SIGKILL), and returns when it is gone. It does nothing
// to one that has ended.
func (p *process) kill() {
	select {
	case <-p.ended:
	default:
		_ = p.cmd.Process.Kill() // it may end by itself meanwhile
		<-p.ended
	}
}

// stop tells the process to end, and returns the figure that it prints. One that does
// not end in a minute is killed.
func (p *process) stop(ctx context.Context) (Figure, error) {
	_ = p.input.Close()
	limit := time.NewTimer(waitTimeout)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.kill()
		return Figure{}, context.Cause(ctx)
	case <-limit.C:
		p.kill()
		return Figure{}, fmt.Errorf("child: it did not end in %s", waitTimeout)
	}
	var figure Figure
	err := p.err
	if err == nil {
		err = json.Unmarshal(p.out.Bytes(), &figure)
	}
	if err != nil {
		return Figure{}, fmt.Errorf("child: %w", err)
	}
	return figure, nil
}

// untilInputEnds returns a context that ends when the standard input of this process does:
// its parent has told it to end, or is gone.
func untilInputEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop(errors.New("the parent wants no more"))
	}()
	return ctx, func() { stop(nil) }
}
