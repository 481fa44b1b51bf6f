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

// located is a broker that runs, and where.
type located struct {
	address string
	ours    bool // it was started by this run
	stop    func() error
}

// findBroker returns where the broker is, starting it where it must; stop ends what it
// has started.
func findBroker(ctx context.Context, b Broker, o brokerOptions, stderr *os.File) (located, error) {
	there := located{stop: func() error { return nil }}
	switch {
	case o.address != "":
		there.address = o.address
		return there, nil
	case o.services == "" && listens(ctx, b.Compose):
		there.address = b.Compose
		return there, nil
	case o.services == "" && dockerAnswers(ctx):
		return located{}, fmt.Errorf("nothing listens at %s: docker compose up -d --wait starts it, and -services native starts one without docker", b.Compose)
	}
	script, err := servicesScript()
	if err != nil {
		return located{}, err
	}
	return services{b, script}.up(ctx, stderr)
}

// services is scripts/services for one broker, without docker.
type services struct {
	b      Broker
	script string
}

// up returns the broker that runs, and starts one where none does.
func (s services) up(ctx context.Context, stderr *os.File) (located, error) {
	r := located{stop: func() error { return nil }}
	if _, err := s.call(ctx, "status"); err != nil {
		fmt.Fprintf(stderr, "%s: starting a broker with scripts/services\n", s.b.Name)
		g, err := s.guard(stderr)
		if err != nil {
			return located{}, err
		}
		said, err := s.call(ctx, "up")
		switch {
		case err != nil:
			return located{}, errors.Join(err, g.end(""))
		case strings.Contains(said, "already running"): // somebody else was quicker
			if err := g.end(guardLeaves); err != nil {
				return located{}, err
			}
		default:
			r.ours, r.stop = true, func() error { return g.end("") }
		}
	}
	said, err := s.call(ctx, "env")
	if err != nil {
		return located{}, errors.Join(err, r.stop())
	}
	for _, line := range strings.Split(said, "\n") {
		if value, is := strings.CutPrefix(line, "export "+s.b.Variable+"='"); is {
			r.address = strings.TrimSuffix(value, "'")
			return r, nil
		}
	}
	return located{}, errors.Join(fmt.Errorf("scripts/services env %s does not say %s", s.b.Service, s.b.Variable), r.stop())
}

func (s services) call(ctx context.Context, verb string) (string, error) {
	cmd := exec.CommandContext(ctx, s.script, verb, s.b.Service)
	cmd.Env = s.env()
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("scripts/services %s %s: %w: %s", verb, s.b.Service, err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

func (s services) env() []string { return append(os.Environ(), "HEADRACE_SERVICES=native") }

// guard is a process that stops the broker when its standard input ends: when this process
// says so, and when it is killed.
type guard struct {
	s     services
	cmd   *exec.Cmd
	input io.WriteCloser
}

// guardLeaves is the line after which a guard leaves the broker as it is.
const guardLeaves = "leave\n"

// guardProgram outlives the Ctrl-C that the terminal sends to it too.
const guardProgram = `trap '' INT TERM HUP; read -r word; [ "$word" = leave ] || exec "$0" down "$1"`

func (s services) guard(stderr *os.File) (*guard, error) {
	g := &guard{s: s, cmd: exec.Command("sh", "-c", guardProgram, s.script, s.b.Service)}
	g.cmd.Env, g.cmd.Stderr = s.env(), stderr
	var err error
	if g.input, err = g.cmd.StdinPipe(); err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("guard the broker: %w", err)
	}
	return g, nil
}

// end ends the guard, and the broker with it unless word is guardLeaves. It waits for both.
func (g *guard) end(word string) error {
	_, err := io.WriteString(g.input, word)
	err = errors.Join(err, g.input.Close())
	if ended := g.cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("scripts/services down %s: %w", g.s.b.Service, ended))
	}
	return err
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
