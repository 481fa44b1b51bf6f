package nats

import (
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// link is a connection, ours or the caller's.
type link struct {
	nc    *natsgo.Conn
	js    jetstream.JetStream
	owned bool
}

func connect(o Server, more ...jetstream.JetStreamOpt) (*link, error) {
	l := &link{nc: o.Conn}
	if l.nc == nil {
		log := o.logger()
		options := []natsgo.Option{
			natsgo.Name("headrace"), natsgo.MaxReconnects(-1), natsgo.ReconnectWait(500 * time.Millisecond),
			// Half-open connections are found within 30 s.
			natsgo.PingInterval(10 * time.Second), natsgo.MaxPingsOutstanding(2),
			natsgo.DisconnectErrHandler(func(nc *natsgo.Conn, _ error) {
				if !nc.IsClosed() {
					log.Warn("the connection to NATS is lost; it is tried again")
				}
			}),
			natsgo.ReconnectHandler(func(nc *natsgo.Conn) {
				log.Info("the connection to NATS is back", "server", nc.ConnectedAddr())
			}),
			// What goes wrong comes back by other ways; the library's default prints it.
			natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {}),
		}
		nc, err := natsgo.Connect(o.URL, append(options, o.Options...)...)
		if err != nil {
			return nil, fmt.Errorf("connect to NATS: %w", err)
		}
		l.nc, l.owned = nc, true
	}
	var err error
	if o.Domain != "" {
		l.js, err = jetstream.NewWithDomain(l.nc, o.Domain, more...)
	} else {
		l.js, err = jetstream.New(l.nc, more...)
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("JetStream: %w", err)
	}
	return l, nil
}

func (l *link) close() {
	if l.owned {
		l.nc.Close()
	}
}
