package postgres

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/outbox"
)

// Options configure a store. The zero value works.
type Options struct {
	// Schema is the schema of the tables. Default "public". It is quoted, so case and
	// every character count; surrounding white space does not.
	Schema string
	// Outbox is the name of the store's outbox: events that are published through this
	// store are in it, and its relay publishes no others. Services that share a schema and
	// publish to different sinks need different names; a schema for each service is better.
	// A new name leaves the events of the old outbox to relays of that name. At most 120
	// bytes. Default "default".
	Outbox string
	// Migrate applies missing migrations when the store is opened. Default: false; then
	// opening fails if some are missing.
	Migrate bool
	// Unchecked opens without checking the tables, for programs that migrate step by
	// step. Other calls fail while the tables do not fit.
	Unchecked bool
	// StatementCache is how many prepared statements are kept on each connection: our
	// own, and on lib/pq, which spends a second round trip on a statement that is not
	// prepared, those of handlers (pgx has a cache of its own for them). 0 means 256,
	// negative none: then pgx does with each statement what its configuration says.
	StatementCache int

	// The fields below are for Open. New and OpenPool leave the caller's connections as they
	// are, and return an error if one of the fields is set.

	// MaxConns bounds the connections, in use and idle. Default 20.
	MaxConns int
	// ConnectTimeout bounds connecting, up to the end of the handshake. Default 10 s, or
	// connect_timeout of the DSN.
	ConnectTimeout time.Duration
	// TCPUserTimeout is how long a connection may wait for the server's TCP
	// acknowledgement before it is closed, and roughly how long a dead one goes
	// unnoticed. Default 15 s. On systems other than Linux only keepalive probes notice.
	TCPUserTimeout time.Duration
}

const (
	defaultSchema         = "public"
	defaultCache          = 256
	defaultMaxConns       = 20
	mostConns             = 10_000
	defaultConnectTimeout = 10 * time.Second
	defaultUserTimeout    = 15 * time.Second
)

// withDefaults returns o with its defaults, or an error that names the invalid field.
func (o Options) withDefaults() (Options, error) {
	if o.Schema == "" {
		o.Schema = defaultSchema
	}
	if o.StatementCache == 0 {
		o.StatementCache = defaultCache
	}
	o.Schema, o.Outbox = strings.TrimSpace(o.Schema), cmp.Or(o.Outbox, outbox.DefaultName)
	if err := encode.OutboxName(o.Outbox); err != nil {
		return o, fmt.Errorf("postgres: %w", err)
	}
	switch {
	case o.Schema == "":
		return o, fmt.Errorf("postgres: Options.Schema is blank")
	case strings.IndexByte(o.Schema, 0) >= 0:
		return o, fmt.Errorf("postgres: Options.Schema holds a NUL byte")
	case len(o.Schema) > 63:
		// PostgreSQL would cut it, so that two names meant one schema.
		return o, fmt.Errorf("postgres: Options.Schema has %d bytes; PostgreSQL takes 63", len(o.Schema))
	case strings.Contains(o.Schema, "$headrace$"):
		return o, fmt.Errorf("postgres: Options.Schema holds $headrace$, the quote of our migrations")
	case o.Migrate && o.Unchecked:
		return o, fmt.Errorf("postgres: Options.Migrate and Options.Unchecked contradict each other")
	case o.MaxConns < 0:
		return o, fmt.Errorf("postgres: Options.MaxConns is negative (%d)", o.MaxConns)
	case o.MaxConns > mostConns:
		return o, fmt.Errorf("postgres: Options.MaxConns is %d: more than %d is a mistake", o.MaxConns, mostConns)
	case o.ConnectTimeout < 0:
		return o, fmt.Errorf("postgres: Options.ConnectTimeout is negative (%s)", o.ConnectTimeout)
	case o.TCPUserTimeout < 0:
		return o, fmt.Errorf("postgres: Options.TCPUserTimeout is negative (%s)", o.TCPUserTimeout)
	}
	for name, d := range map[string]time.Duration{"ConnectTimeout": o.ConnectTimeout, "TCPUserTimeout": o.TCPUserTimeout} {
		if d > 0 && d < time.Millisecond {
			return o, fmt.Errorf("postgres: Options.%s is %s: give it a unit, as in 15*time.Second", name, d)
		}
	}
	if o.MaxConns == 0 {
		o.MaxConns = defaultMaxConns
	}
	if o.TCPUserTimeout == 0 {
		o.TCPUserTimeout = defaultUserTimeout
	}
	return o, nil
}

// unconnected is withDefaults for a store on the caller's connections, which the fields for
// connecting would not change.
func (o Options) unconnected(from string) (Options, error) {
	for name, set := range map[string]bool{"MaxConns": o.MaxConns != 0, "ConnectTimeout": o.ConnectTimeout != 0, "TCPUserTimeout": o.TCPUserTimeout != 0} {
		if set {
			return o, fmt.Errorf("postgres: Options.%s is for Open: %s takes the caller's connections as they are; set it there", name, from)
		}
	}
	return o.withDefaults()
}

// quoted returns the schema's name, quoted for SQL.
func (o Options) quoted() string { return pq.QuoteIdentifier(o.Schema) }
