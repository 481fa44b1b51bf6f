package brokertest

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"testing"
)

// Certificate returns the certificate of httptest, for 127.0.0.1, and the authority that
// knows it.
func Certificate() (tls.Certificate, *x509.CertPool) {
	known := httptest.NewUnstartedServer(nil)
	known.StartTLS()
	defer known.Close()
	authorities := x509.NewCertPool()
	authorities.AddCert(known.Certificate())
	return known.TLS.Certificates[0], authorities
}

// TerminateTLS ends TLS before the server at addr until the test ends, and returns where it
// listens.
func TerminateTLS(t testing.TB, addr string) (at string, authorities *x509.CertPool) {
	t.Helper()
	certificate, authorities := Certificate()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	through(t, addr, listener)
	return listener.Addr().String(), authorities
}
