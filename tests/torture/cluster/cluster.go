//go:build unix

package cluster

import (
	"context"
	"database/sql"
	_ "embed" // the statement
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lib/pq" // and driver "postgres"

	"github.com/headrace/headrace/internal/freeport"
)

// ErrNone matches the error of New where no PostgreSQL is installed.
var ErrNone = errors.New("no PostgreSQL server is installed or unpacked: run scripts/test, or name its programs in HEADRACE_POSTGRES_BIN")

// Cluster is a server with its files.
type Cluster struct {
	bin, dir string
	port     int
	as       *syscall.Credential
	server   *exec.Cmd
}

// New makes a cluster under dir and starts it.
func New(ctx context.Context, dir string) (*Cluster, error) {
	c := &Cluster{dir: filepath.Join(dir, "data")}
	var err error
	if c.bin, err = programs(); err != nil {
		return nil, err
	}
	if err := c.identity(dir); err != nil {
		return nil, err
	}
	init := c.command(ctx, "initdb", "--pgdata", c.dir, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if c.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := c.configure(); err != nil {
		return nil, err
	}
	return c, c.Start(ctx)
}

func programs() (string, error) {
	if bin := os.Getenv("HEADRACE_POSTGRES_BIN"); bin != "" {
		return bin, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		version := func(path string) int {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
			return n
		}
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrNone
	}
	path, err = filepath.EvalSymlinks(path)
	return filepath.Dir(path), err
}

// identity gives dir to the user postgres where we are root, as whom no server runs. Where
// that user is missing it is Unix' user without rights, as for scripts/services.
func (c *Cluster) identity(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return fmt.Errorf("the server does not run as root: %w", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	c.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(dir, uid, gid)
}

func (c *Cluster) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, program), args...)
	cmd.Dir = filepath.Dir(c.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	return cmd
}

func freePort() (int, error) {
	address, err := freeport.Address()
	if err != nil {
		return 0, err
	}
	return int(netip.MustParseAddrPort(address).Port()), nil
}

func (c *Cluster) configure() error {
	f, err := os.OpenFile(filepath.Join(c.dir, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "\nport = %d\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n"+
		"max_connections = 100\nshared_buffers = 64MB\nfsync = on\nsynchronous_commit = on\nlogging_collector = off\ntimezone = 'UTC'\n", c.port)
	return errors.Join(err, f.Close())
}

// startTime is how long a server may take to recover.
const startTime = 60 * time.Second

// Start starts the server and waits until it answers.
func (c *Cluster) Start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(filepath.Dir(filepath.Dir(c.dir)), "postgres.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	c.server = c.command(context.WithoutCancel(ctx), "postgres", "-D", c.dir)
	c.server.Stdout, c.server.Stderr = log, log
	endWithParent(c.server.SysProcAttr)
	if err := c.server.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	db, err := sql.Open("postgres", c.DSN("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for end := time.Now().Add(startTime); ; time.Sleep(20 * time.Millisecond) {
		if err = db.PingContext(ctx); err == nil || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
	}
}

// Stop runs pg_ctl stop with a mode: immediate is a crash.
func (c *Cluster) Stop(ctx context.Context, mode string) error {
	if c.server == nil {
		return nil
	}
	// -W: the server is our child, and is gone only when we have waited for it.
	out, err := c.command(ctx, "pg_ctl", "stop", "-D", c.dir, "-m", mode, "-W").CombinedOutput()
	if err != nil {
		_ = c.server.Process.Kill()
		err = fmt.Errorf("pg_ctl stop -m %s: %w: %s", mode, err, out)
	}
	_ = c.server.Wait() // its status says how it was stopped
	c.server = nil
	return err
}

// Addr is where the server listens.
func (c *Cluster) Addr() string { return fmt.Sprintf("127.0.0.1:%d", c.port) }

// DSN returns that of a database.
func (c *Cluster) DSN(database string) string { return DSN(c.Addr(), database) }

// DSN returns that of a database behind addr.
func DSN(addr, database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", addr, database)
}

//go:embed create.sql
var create string

// Create makes a database; the name is a word.
func (c *Cluster) Create(ctx context.Context, database string) error {
	db, err := sql.Open("postgres", c.DSN("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, strings.ReplaceAll(create, "{{name}}", pq.QuoteIdentifier(database)))
	return err
}

// Copy dumps a database of c with pg_dump and restores it into another cluster, which
// gets a database of the same name.
func (c *Cluster) Copy(ctx context.Context, database string, to *Cluster) error {
	dump := c.command(ctx, "pg_dump", "--dbname", c.DSN(database), "--create")
	restore := c.command(ctx, "psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--dbname", to.DSN("postgres"))
	pipe, err := dump.StdoutPipe()
	if err != nil {
		return err
	}
	restore.Stdin = pipe
	if err := dump.Start(); err != nil {
		return fmt.Errorf("pg_dump: %w", err)
	}
	out, err := restore.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("restore: %w: %s", err, out)
	}
	return errors.Join(err, dump.Wait())
}
