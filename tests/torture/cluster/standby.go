//go:build unix

package cluster

import (
	"context"
	"database/sql"
	_ "embed" // the statement
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Standby copies c, which is stopped meanwhile, under dir, and starts the copy as a hot
// standby that streams from c. It has no slot: what c writes while it is stopped may be lost.
func (c *Cluster) Standby(ctx context.Context, dir string) (*Cluster, error) {
	s := &Cluster{bin: c.bin, dir: filepath.Join(dir, "data")}
	if err := s.identity(dir); err != nil {
		return nil, err
	}
	if err := c.Stop(ctx, "fast"); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", c.dir, s.dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copy the files: %w: %s", err, out)
	}
	var err error
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := s.follow(c); err != nil {
		return nil, err
	}
	return s, errors.Join(c.Start(ctx), s.Start(ctx))
}

// follow configures s, which is a copy, as a standby of c.
func (s *Cluster) follow(c *Cluster) error {
	if err := s.configure(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "primary_conninfo = 'host=127.0.0.1 port=%d user=postgres'\n", c.port)
	return errors.Join(err, f.Close(), os.WriteFile(filepath.Join(s.dir, "standby.signal"), nil, 0o644))
}

//go:embed promote.sql
var promote string

// Promote makes a standby a server of its own, and waits until it is one.
func (c *Cluster) Promote(ctx context.Context) error {
	db, err := sql.Open("postgres", c.DSN("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var promoted bool
	if err := db.QueryRowContext(ctx, promote).Scan(&promoted); err != nil || !promoted {
		return fmt.Errorf("promote: %t, %w", promoted, err)
	}
	return nil
}
