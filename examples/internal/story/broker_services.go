package story

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// findBroker returns where the broker is, starting it where it must; stop ends what it
// has started.
func findBroker(ctx context.Context, b Broker, o brokerOptions, stderr io.Writer) (address string, stop func() error, err error) {
	nothing := func() error { return nil }
	switch {
	case o.address != "":
		return o.address, nothing, nil
	case o.services == "" && listens(ctx, b.Compose):
		return b.Compose, nothing, nil
	case o.services == "" && dockerAnswers(ctx):
		return "", nil, fmt.Errorf("nothing listens at %s: docker compose up -d --wait starts it, and -services native starts one without docker", b.Compose)
	}
	script, err := servicesScript()
	if err != nil {
		return "", nil, err
	}
	fmt.Fprintf(stderr, "%s: starting a broker with scripts/services\n", b.Name)
	call := func(ctx context.Context, verb string) (string, error) {
		cmd := exec.CommandContext(ctx, script, verb, b.Service)
		cmd.Env = append(os.Environ(), "HEADRACE_SERVICES=native")
		var out, problem bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &problem
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("scripts/services %s %s: %w: %s", verb, b.Service, err, strings.TrimSpace(problem.String()))
		}
		return out.String(), nil
	}
	said, err := call(ctx, "up")
	if err != nil {
		return "", nil, err
	}
	stop = func() error { _, err := call(context.WithoutCancel(ctx), "down"); return err }
	if strings.Contains(said, "already running") {
		stop = nothing
	}
	said, err = call(ctx, "env")
	if err != nil {
		return "", nil, errors.Join(err, stop())
	}
	for _, line := range strings.Split(said, "\n") {
		if value, is := strings.CutPrefix(line, "export "+b.Variable+"='"); is {
			return strings.TrimSuffix(value, "'"), stop, nil
		}
	}
	return "", nil, errors.Join(fmt.Errorf("scripts/services env %s does not say %s", b.Service, b.Variable), stop())
}

// listens reports whether something does at address, which may be a URL.
func listens(ctx context.Context, address string) bool {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Host
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func dockerAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "info").Run() == nil
}

// servicesScript finds scripts/services of the repository that the program runs in.
func servicesScript() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find scripts/services: %w", err)
	}
	for {
		script := filepath.Join(dir, "scripts", "services")
		if info, err := os.Stat(script); err == nil && info.Mode().IsRegular() {
			return script, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("scripts/services is not found: start the program inside of the repository, or give -broker")
		}
		dir = parent
	}
}
