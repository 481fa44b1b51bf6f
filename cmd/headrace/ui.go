package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/login"
)

// uiFlags are the options of headrace ui.
type uiFlags struct {
	loginFlags
	listen  string
	hosts   []string
	name    string
	trace   string
	runbook string
	alerts  string
	metrics bool
}

func (m *Main) uiCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "ui", Short: "show the database in a browser", Args: noArgs,
		Long: `Serves pages that show which messages fail and why, and that redrive them. It prints a link that works once, within
5 minutes, on this machine. The browser that opens it is an admin's for 12 hours. With --proxy-header or --tokens other
people can sign in, and the pages may listen beyond loopback. Ending the command ends no redrive.

The processes of a consumer send its alerts. If none of them runs, they cannot report that: with --alerts this command
does, and also sends alerts about the whole database while no process checks it. The file has a line for each receiver:
  slack URL | pagerduty KEY | pagerduty-eu KEY | alertmanager URL… | webhook URL SECRET | heartbeat URL
A receiver may have a name after its kind, as in "slack name=ops URL"; two receivers of a kind need names. headrace alert ls shows
the name. The file may also have "pages URL", the address of these pages for links, and "allow NETWORK" (10.0.0.0/8), for receivers in
your own network, also by http. If a receiver is also a sink of the consumers under the same name, it gets each alert once. Set
HEADRACE_ENVIRONMENT as for the consumers.`,
		Example: "  headrace ui --listen 127.0.0.1:8090",
	}
	var f uiFlags
	flags := c.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8090", "the `address` to listen on, or unix:PATH")
	flags.StringSliceVar(&f.hosts, "host", nil, "another `name` by which browsers may call")
	flags.StringVar(&f.name, "name", "", "what the pages call the database (default: its name without a password)")
	flags.StringVar(&f.trace, "trace-url", "", "the `URL` of a trace, with {trace} for its id")
	flags.StringVar(&f.runbook, "runbook-url", "", "the `URL` of a runbook, with {consumer} and {handler}")
	flags.StringVar(&f.alerts, "alerts", "", "a `file` with who is told of alerts, a line for each: see above")
	flags.BoolVar(&f.metrics, "metrics", false, "also serve the gauges of the database at "+metricsPath+", for Prometheus")
	f.add(c)
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		if err := f.addresses(); err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error { return m.serveUI(ctx, st, f) })
	})
	return c
}

// serveUI serves the pages until the user asks to stop.
func (m *Main) serveUI(ctx context.Context, st openStore, f uiFlags) error {
	logger := slog.New(slog.NewTextHandler(m.Stderr, nil))
	way, err := f.way(logger)
	if err != nil {
		return err
	}
	eyes := m.eyes(&content{payload: true})
	if f.name == "" {
		db, err := m.locate()
		if err != nil {
			return err
		}
		f.name = db.shown
	}
	hosts := login.Names(f.listen, f.hosts)
	pages := way.Handler(ui.New(st, ui.Options{
		Identify: way.Identify, Redact: forEyes(eyes.rules), Hosts: hosts, Name: f.name, CommandEnd: strings.TrimPrefix(m.command(""), "headrace "),
		TraceURL: f.trace, RunbookURL: f.runbook, Log: logger,
	}))
	if f.metrics {
		both, end, err := withGauges(st, way, pages)
		if err != nil {
			return err
		}
		defer end()
		pages = both
	}
	told, err := readReceivers(f.alerts)
	if err != nil {
		return err
	}
	work, stop := m.Interruptible(ctx)
	defer stop()
	l, err := login.Listen(f.listen, way)
	if errors.Is(err, login.ErrBeyond) {
		return usagef("%v", err)
	} else if err != nil {
		return err
	}
	if len(hosts) == 0 {
		_ = l.Close()
		return usagef("--listen %s has no name, and browsers that call by a name would be refused: give --host with the name in their address bar", f.listen)
	}
	var alerting sync.WaitGroup
	defer alerting.Wait()
	watching, end := context.WithCancel(work)
	defer end()
	alerting.Go(func() { told.watch(watching, st, m.Getenv("HEADRACE_ENVIRONMENT"), logger) })
	path := "/"
	if link, ok := way.(*login.Link); ok {
		path = link.Path()
	}
	return serve(work, l, login.ByName(hosts, pages), func() { m.say("%s", served(l.Addr(), hosts, path)) })
}

// served is where the pages are.
func served(at net.Addr, hosts []string, path string) string {
	if at.Network() == "unix" {
		return "unix:" + at.String()
	}
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return "http://" + net.JoinHostPort(hosts[0], strconv.Itoa(tcp.Port)) + path
	}
	return "http://" + at.String() + path
}

// addresses checks those of pages of others.
func (f *uiFlags) addresses() error {
	if !strings.HasPrefix(f.listen, "unix:") {
		_, port, err := net.SplitHostPort(f.listen)
		if _, unknown := net.LookupPort("tcp", port); err != nil || unknown != nil {
			return wrong("listen", f.listen, "it must be host:port, or unix:PATH")
		}
	}
	for name, to := range map[string]string{"trace-url": f.trace, "runbook-url": f.runbook} {
		if to != "" && !strings.HasPrefix(to, "https://") && !strings.HasPrefix(to, "http://") {
			return wrong(name, to, "it must be an address that begins with https:// or http://")
		}
	}
	return nil
}

// serve serves pages until ctx ends. It calls say once they are served.
func serve(ctx context.Context, l net.Listener, pages http.Handler, say func()) (err error) {
	server := &http.Server{Handler: pages, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	say()
	select {
	case err = <-ended:
	case <-ctx.Done():
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
