package services

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

// Server is a kind of server that the programs run against.
type Server struct {
	// Name is its name in scripts/services and docker-compose.yml.
	Name string
	// Variable is the environment variable with its address that scripts/services env prints.
	Variable string
	// Compose is its address when docker compose has started it.
	Compose string
}

// The servers that examples and tests/endtoend have programs for.
var (
	Kafka    = Server{"kafka", "HEADRACE_TEST_KAFKA", "127.0.0.1:9092"}
	RabbitMQ = Server{"rabbitmq", "HEADRACE_TEST_RABBITMQ", "amqp://guest:guest@127.0.0.1:5672/"}
	SQS      = Server{"sqs", "HEADRACE_TEST_SQS", "http://127.0.0.1:9324"}
)

// Found is a server that runs.
type Found struct {
	// Address is where it is, in the form of Server.Compose.
	Address string
	// Ours says that this run has started it.
	Ours bool
	// Stop ends what this run has started. It is never nil.
	Stop func() error
}

// Find returns the server at address, and with address "" the one of docker compose. Where that does not run and no
// docker engine answers, or with native, or with HEADRACE_SERVICES=native, it starts one with scripts/services; that
// may take a minute, and downloads what is missing. Found.Stop ends what it has started, and so does the end of this
// process, however it ends. What it does is told to stderr.
func (s Server) Find(ctx context.Context, address string, native bool, stderr *os.File) (Found, error) {
	there := Found{Stop: func() error { return nil }}
	native = native || os.Getenv("HEADRACE_SERVICES") == "native"
	switch {
	case address != "":
		there.Address = address
		return there, nil
	case !native && listens(ctx, s.Compose):
		there.Address = s.Compose
		return there, nil
	case !native && dockerAnswers(ctx):
		return Found{}, fmt.Errorf("nothing listens at %s: docker compose up -d --wait starts it, HEADRACE_SERVICES=native starts one without docker, and -broker names another", s.Compose)
	}
	path, err := scriptPath()
	if err != nil {
		return Found{}, err
	}
	return script{s, path}.up(ctx, stderr)
}

// script is scripts/services for one server, without docker.
type script struct {
	server Server
	path   string
}

// up returns the broker that runs, and starts one where none does.
func (s script) up(ctx context.Context, stderr *os.File) (Found, error) {
	r := Found{Stop: func() error { return nil }}
	if _, err := s.call(ctx, "status"); err != nil {
		fmt.Fprintf(stderr, "%s: starting a broker with scripts/services\n", s.server.Name)
		g, err := s.guard(stderr)
		if err != nil {
			return Found{}, err
		}
		said, err := s.call(ctx, "up")
		switch {
		case err != nil:
			return Found{}, errors.Join(err, g.end(""))
		case strings.Contains(said, "already running"): // another process was quicker
			if err := g.end(guardLeaves); err != nil {
				return Found{}, err
			}
		default:
			r.Ours, r.Stop = true, func() error { return g.end("") }
		}
	}
	said, err := s.call(ctx, "env")
	if err != nil {
		return Found{}, errors.Join(err, r.Stop())
	}
	for _, line := range strings.Split(said, "\n") {
		if value, is := strings.CutPrefix(line, "export "+s.server.Variable+"='"); is {
			r.Address = strings.TrimSuffix(value, "'")
			return r, nil
		}
	}
	return Found{}, errors.Join(fmt.Errorf("scripts/services env %s does not say %s", s.server.Name, s.server.Variable), r.Stop())
}

func (s script) call(ctx context.Context, verb string) (string, error) {
	cmd := exec.CommandContext(ctx, s.path, verb, s.server.Name)
	cmd.Env = s.env()
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("scripts/services %s %s: %w: %s", verb, s.server.Name, err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

func (s script) env() []string { return append(os.Environ(), "HEADRACE_SERVICES=native") }

// guard is a process that stops the broker when its standard input ends: when this process
// says so, and when it is killed.
type guard struct {
	s     script
	cmd   *exec.Cmd
	input io.WriteCloser
}

// guardLeaves is the line after which a guard leaves the broker as it is.
const guardLeaves = "leave\n"

// guardProgram outlives the Ctrl-C that the terminal sends to it too.
const guardProgram = `trap '' INT TERM HUP; read -r word; [ "$word" = leave ] || exec "$0" down "$1"`

func (s script) guard(stderr *os.File) (*guard, error) {
	g := &guard{s: s, cmd: exec.Command("sh", "-c", guardProgram, s.path, s.server.Name)}
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
		err = errors.Join(err, fmt.Errorf("scripts/services down %s: %w", g.s.server.Name, ended))
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

// scriptPath finds scripts/services of the repository that the program runs in.
func scriptPath() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find scripts/services: %w", err)
	}
	for {
		path := filepath.Join(dir, "scripts", "services")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("scripts/services is not found: start the program inside of the repository, or give -broker")
		}
		dir = parent
	}
}
