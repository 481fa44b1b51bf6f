package nats

import (
	"errors"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/internal/flow"
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
			natsgo.ErrorHandler(o.complaints()),
		}
		options = append(options, o.Options...)
		nc, err := natsgo.Connect(o.URL, options...)
		if errors.Is(err, natsgo.ErrNoServers) || waitable(err) {
			log.Warn("NATS is not reachable; it is tried again", "error", err)
			nc, err = natsgo.Connect(o.URL, append(options, natsgo.RetryOnFailedConnect(true))...)
		}
		if err != nil {
			return nil, fmt.Errorf("option URL: connect to NATS: %w", flow.WithoutURL(err))
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
