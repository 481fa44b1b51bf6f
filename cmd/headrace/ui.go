package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/who"
)

// uiFlags are the options of headrace ui.
type uiFlags struct {
	listen   string
	hosts    []string
	name     string
	trace    string
	runbook  string
	identify func(*http.Request) (who.Person, error) // of tests
}

func (m *Main) uiCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "ui", Short: "show the database in a browser", Args: noArgs,
		Long: `Serves pages that show what fails, and lead from there to redriven letters. It listens on loopback, and
everybody who may connect there is an admin. Ending the command ends no redrive.`,
		Example: "  headrace ui --listen 127.0.0.1:8090",
	}
	var f uiFlags
	flags := c.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8090", "the loopback `address` to listen on")
	flags.StringSliceVar(&f.hosts, "host", nil, "another `name` by which browsers may call")
	flags.StringVar(&f.name, "name", "", "what the pages call the database (default: its name without a password)")
	flags.StringVar(&f.trace, "trace-url", "", "the `URL` of a trace, with {trace} for its id")
	flags.StringVar(&f.runbook, "runbook-url", "", "the `URL` of a runbook, with {consumer} and {handler}")
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		return m.withStore(ctx, func(st openStore) error { return m.serveUI(ctx, st, f) })
	})
	return c
}

// serveUI serves the pages until the user asks to stop.
func (m *Main) serveUI(ctx context.Context, st openStore, f uiFlags) error {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return usagef("--listen %q is not host:port", short(f.listen, 80))
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usagef("--listen %q is not on loopback: others could connect, and need not say who they are", short(f.listen, 80))
	}
	identify := f.identify
	if identify == nil {
		me := who.Person{Name: userName(), Role: who.Admin}
		identify = func(*http.Request) (who.Person, error) { return me, nil }
	}
	if f.name == "" {
		db, err := m.locate()
		if err != nil {
			return err
		}
		f.name = db.shown
	}
	handler := ui.New(st, ui.Options{
		Identify: identify, Hosts: append([]string{"localhost", "127.0.0.1", "::1", host}, f.hosts...), Name: f.name, CommandEnd: strings.TrimPrefix(m.command(""), "headrace "),
		TraceURL: f.trace, RunbookURL: f.runbook, Log: slog.New(slog.NewTextHandler(m.Stderr, nil)),
	})
	work, stop := m.Interruptible(ctx)
	defer stop()
	l, err := new(net.ListenConfig).Listen(work, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	m.say("http://%s/", l.Addr())
	select {
	case err = <-ended:
	case <-work.Done():
		closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(closing) // what is still open is cut
		err = <-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
