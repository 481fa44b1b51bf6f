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
	// connection counts as lost. At least 1 s. Default 10 s.
	Heartbeat time.Duration
	// Timeout bounds one attempt to connect, and one write: a broker without memory or
	// disk stops reading. Default 10 s.
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
	case s.Heartbeat < 0 || s.Heartbeat > 0 && s.Heartbeat < time.Second:
		return fmt.Errorf("option Server.Heartbeat is %s: the protocol counts in whole seconds, give at least 1 s", s.Heartbeat)
	case s.Timeout < 0 || s.Timeout > 0 && s.Timeout < time.Millisecond:
		return fmt.Errorf("option Server.Timeout is %s: give it a unit, as in 10*time.Second", s.Timeout)
	}
	uri, err := amqp091.ParseURI(s.URL)
	switch {
	case err != nil:
		return fmt.Errorf("option Server.URL: %w", withoutURL(err))
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

// withoutURL returns err without the URL, which contains a password and which errors of
// package url repeat.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

func set[T comparable](field *T, otherwise T) {
	var zero T
	if *field == zero {
		*field = otherwise
	}
}
