package postgres

import (
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"
)

// Options are what a store may be told. The zero value works.
type Options struct {
	// Schema is where the tables are. Default "public". It is quoted, so that case
	// and every character count; white space around it does not.
	Schema string
	// Migrate applies the migrations that are missing while opening. Default: a
	// database that lacks some is refused.
	Migrate bool
	// Unchecked opens without a look at the tables, for programs that migrate step
	// by step. Whatever else the store is asked then fails where they do not fit.
	Unchecked bool
	// StatementCache is how many prepared statements are kept for the handlers'
	// statements and our own, on each connection. 0 means 256 for lib/pq, which
	// spends a second round trip on a statement that is not prepared, and none for
	// any other driver (pgx has a cache of its own). Negative means none.
	StatementCache int

	// The fields below are Open's; New leaves the caller's connections as they are.

	// MaxConns bounds the connections, used and idle. Default 20.
	MaxConns int
	// ConnectTimeout bounds the making of a connection, up to the end of its
	// handshake. Default 10 s, or what the DSN says (connect_timeout).
	ConnectTimeout time.Duration
	// TCPUserTimeout is after how long a connection is given up on which the server
	// acknowledges nothing, and roughly how long a dead one goes unnoticed. Default
	// 15 s. On systems other than Linux only keepalive probes notice.
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

// withDefaults returns o with its defaults filled in, or an error that names the
// field that is wrong.
func (o Options) withDefaults() (Options, error) {
	if o.Schema == "" {
		o.Schema = defaultSchema
	}
	o.Schema = strings.TrimSpace(o.Schema)
	switch {
	case o.Schema == "":
		return o, fmt.Errorf("postgres: Options.Schema is blank")
	case strings.IndexByte(o.Schema, 0) >= 0:
		return o, fmt.Errorf("postgres: Options.Schema holds a NUL byte")
	case len(o.Schema) > 63:
		// PostgreSQL would cut it, and two names would mean one schema.
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

// quoted is the schema's name as SQL takes it.
func (o Options) quoted() string { return pq.QuoteIdentifier(o.Schema) }
