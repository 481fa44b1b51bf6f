package amqp

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/internal/flow"
)

// Server is the broker's address and how to connect. URL is required.
type Server struct {
	// URL is the broker's, amqp://user:password@host:5672/vhost or amqps://. It never
	// appears in a log or an error. Of its query only auth_mechanism and
	// server_name_indication are used; give certificates in TLS.
	URL string
	// Name is shown to operators with the connection. Default "headrace".
	Name string
	// TLS is used for an amqps URL. Default: the system's authorities, and the URL's host.
	TLS *tls.Config
	// Heartbeat is how often both sides send a sign of life; after three missing ones the
	// connection counts as lost. 1 s to 1 h. Default 10 s.
	Heartbeat time.Duration
	// Timeout bounds one attempt to connect, and one write: a broker without memory or
	// disk stops reading. At most 1 h. Default 10 s.
	Timeout time.Duration
	// Logger logs once when a connection is lost or cannot be made, and once when it is
	// restored. Default: slog.Default().
	Logger *slog.Logger
}

func (s Server) withDefaults() Server {
	set(&s.Name, "headrace")
	set(&s.Heartbeat, 10*time.Second)
	set(&s.Timeout, 10*time.Second)
	if s.Logger == nil {
		s.Logger = slog.Default()
	}
	return s
}

func (s Server) validate() error {
	switch {
	case s.URL == "":
		return errors.New("option Server.URL is empty: give amqp://user:password@host:5672/vhost")
	}
	if err := flow.Times(flow.Time{Name: "Server.Heartbeat", Value: s.Heartbeat, Least: time.Second}, flow.Time{Name: "Server.Timeout", Value: s.Timeout}); err != nil {
		return err
	}
	uri, err := amqp091.ParseURI(s.URL)
	switch {
	case err != nil:
		return fmt.Errorf("option Server.URL: %w", flow.WithoutURL(err))
	case uri.CertFile != "" || uri.KeyFile != "" || uri.CACertFile != "":
		return errors.New("option Server.URL names files of certificates: give Server.TLS instead")
	case s.TLS != nil && uri.Scheme != "amqps":
		return errors.New("option Server.TLS: Server.URL does not begin with amqps://")
	}
	return nil
}

// target returns the plain URL for the client, and the TLS configuration beneath, nil for
// none. The client does not do TLS itself, because guard must read the same data.
func (s Server) target() (string, *tls.Config) {
	uri, err := amqp091.ParseURI(s.URL)
	if err != nil || uri.Scheme != "amqps" {
		return s.URL, nil
	}
	secure := s.TLS.Clone()
	if secure == nil {
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if secure.ServerName == "" {
		secure.ServerName = cmp.Or(uri.ServerName, uri.Host)
	}
	plain, err := url.Parse(s.URL)
	if err != nil { // ParseURI has parsed it
		return s.URL, secure
	}
	plain.Scheme, plain.Host = "amqp", net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port))
	return plain.String(), secure
}

func set[T comparable](field *T, otherwise T) {
	var zero T
	if *field == zero {
		*field = otherwise
	}
}
