package flow

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/headrace/headrace/consumer"
)

// Reach adds to an error the option to check, if the server did not answer; otherwise it
// returns err. An error that is to be waited for (see Unavailable) matches
// consumer.ErrUnavailable.
func Reach(err error, option string) error {
	var network net.Error // also of an invalid address
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case Unavailable(err):
		return fmt.Errorf("%w: %w (no answer: is the address of option %s right, and the server up?)", consumer.ErrUnavailable, err, option)
	case errors.As(err, &network):
		return fmt.Errorf("%w (is the address of option %s right?)", err, option)
	}
	return err
}

// Unavailable reports whether err says that a server was not reached or did not answer: a
// refused or lost connection, a timeout, an end in the middle, a host without an address,
// which it may get when it starts. A certificate that one side does not accept, and a
// malformed address, are no such errors: only a person can fix them.
func Unavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || mistaken(err) {
		return false
	}
	for _, e := range []error{
		context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network) && network.Timeout() || as[*net.OpError](err) || as[*net.DNSError](err)
}

// mistaken reports whether err is about an address that cannot exist, or about TLS.
func mistaken(err error) bool {
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.Err == "unknown port" {
		return true
	}
	return as[*net.AddrError](err) || as[*net.ParseError](err) || as[net.UnknownNetworkError](err) || as[net.InvalidAddrError](err) ||
		as[tls.AlertError](err) || as[tls.RecordHeaderError](err) || as[*tls.CertificateVerificationError](err) ||
		as[x509.UnknownAuthorityError](err) || as[x509.HostnameError](err) || as[x509.CertificateInvalidError](err)
}

func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}
