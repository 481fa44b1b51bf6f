package sinks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/headrace/headrace/alerts"
)

// Options say how a sink calls its receiver. The zero value is right for a receiver on the
// public internet.
type Options struct {
	// Name is the sink's (see alerts.Sink). Default: slack, pagerduty, alertmanager, webhook. A Hook
	// of Webhook has none.
	Name string
	// Least is the least severity that is sent; alerts without one count as Warning. That an
	// incident is Resolved is always told to a receiver that keeps incidents: PagerDuty and
	// Alertmanager. Default: Warning; for a Hook of Webhook Info.
	Least alerts.Severity
	// Header has more headers of each request, as for a proxy that asks who calls. They are
	// secrets. Those that the sink itself sets cannot be changed.
	Header http.Header
	// Timeout bounds a call in all, from the look-up of the name to the end of the
	// answer. At most 5 s. Default 5 s.
	Timeout time.Duration
	// Allow are private or special networks that may be dialed, for a receiver in your
	// own network. Default: none.
	Allow []netip.Prefix
	// Plain also accepts an http URL, for tests and receivers on this machine: others in
	// the network can read and change the requests. Default: https only.
	Plain bool
	// RootCAs are the authorities for the receiver's certificate. With an http URL they are
	// an error. Default: the system's.
	RootCAs *x509.CertPool
}

const (
	// maxTimeout is the most that a call may take.
	maxTimeout = 5 * time.Second
	// maxAnswer is how much of an answer is read, and maxHeader of its header.
	maxAnswer = 4 << 10
	maxHeader = 16 << 10
)

// caller posts to one URL. It keeps nothing between two calls, not even connections.
type caller struct {
	kind, name string
	least      alerts.Severity
	url        *url.URL
	header     http.Header
	client     *http.Client
}

// newCaller checks the options and the URL. kind begins its errors, and is its default name.
// Errors show neither the URL nor a header.
func newCaller(kind, rawURL string, o Options) (*caller, error) {
	if o.Timeout < 0 || o.Timeout > maxTimeout {
		return nil, fmt.Errorf("sinks: %s: option Timeout (%s) is not from 0 to %s: 0 gives the default", kind, o.Timeout, maxTimeout)
	}
	o.Timeout, o.Least = cmp.Or(o.Timeout, maxTimeout), cmp.Or(o.Least, alerts.Warning)
	if o.Least.Rank() == 0 {
		return nil, fmt.Errorf("sinks: %s: option Least is no severity", kind)
	}
	for _, p := range o.Allow {
		if !p.IsValid() {
			return nil, fmt.Errorf("sinks: %s: option Allow holds a network that is not one", kind)
		}
	}
	u, err := endpoint(rawURL, o)
	if err != nil {
		return nil, fmt.Errorf("sinks: %s: %w", kind, err)
	}
	return &caller{kind: kind, name: cmp.Or(o.Name, kind), least: o.Least, url: u, header: o.Header.Clone(), client: client(o)}, nil
}

// Name returns the sink's name.
func (c *caller) Name() string { return c.name }

// Address is a hash of what decides who gets what.
func (c *caller) Address() string { return address("", c) }

// address is a hash of where callers send, with which headers and key, and from which severity on. It
// is of 8 digits, from which no secret can be found.
func address(key string, callers ...*caller) string {
	h := sha256.New()
	for _, c := range callers {
		_, _ = fmt.Fprintf(h, "%q %q %q ", c.url.String(), c.least, key) // a hash never fails
		_ = c.header.Write(h)
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// Wants reports whether an alert matters enough: of another one Send does nothing.
func (c *caller) Wants(a alerts.Alert) bool {
	return cmp.Or(a.Severity, alerts.Warning).Rank() >= c.least.Rank()
}

// ends is Wants for a receiver that ends by itself what it began: each end is for it, and what is only good news is not.
func (c *caller) ends(a alerts.Alert) bool {
	return a.Phase == alerts.Resolved || c.Wants(a) && !a.Kind.Good()
}

func client(o Options) *http.Client {
	dialer := &net.Dialer{
		// It sees the resolved address just before it is dialed, so a name that later
		// resolves to another address cannot bypass the check.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !mayDial(at.Addr(), o.Allow) {
				return ErrAddress
			}
			return nil
		},
	}
	return &http.Client{
		Timeout:       o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: nil, DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: maxHeader,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		},
	}
}

// post sends content, with headers given as names and values. Its errors are SendErrors.
func (c *caller) post(ctx context.Context, content []byte, headers ...string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), bytes.NewReader(content))
	if err != nil {
		return &alerts.SendError{Reason: c.kind + ": the request cannot be made"}
	}
	for name, values := range c.header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "headrace")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := c.client.Do(request)
	if err != nil {
		return c.failure(err)
	}
	defer func() { _ = response.Body.Close() }()
	// The response is not needed; reading some of it lets the receiver finish.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	return c.answered(response, time.Now())
}

// refusals are the statuses that the same request would get again.
var refusals = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

// answered returns the error of a response, or nil.
func (c *caller) answered(r *http.Response, now time.Time) error {
	if r.StatusCode >= 200 && r.StatusCode < 300 {
		return nil
	}
	e := &alerts.SendError{
		Reason: fmt.Sprintf("%s: the receiver answered with status %d", c.kind, r.StatusCode),
		Status: r.StatusCode, Refused: slices.Contains(refusals, r.StatusCode),
	}
	if r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusServiceUnavailable {
		e.RetryAfter = retryAfter(r.Header.Get("Retry-After"), now)
	}
	return e
}

// retryAfter reads the header of that name; 0 if it has no valid value.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return min(time.Duration(min(max(seconds, 0), 86400))*time.Second, mostRetryAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), mostRetryAfter)
	}
	return 0
}

// mostRetryAfter is the longest delay that a receiver can ask for.
const mostRetryAfter = 15 * time.Minute

// failure returns the error of a failed call, without texts of others: they contain the
// URL, or data from the receiver.
func (c *caller) failure(err error) error {
	e := &alerts.SendError{Reason: c.kind + ": the answer is not one of HTTP"}
	switch {
	case errors.Is(err, ErrAddress):
		e.Reason, e.Err = c.kind+": "+ErrAddress.Error(), ErrAddress
	case errors.Is(err, context.Canceled):
		e.Reason, e.Err = c.kind+": cancelled", context.Canceled
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		e.Reason, e.Err = c.kind+": no answer in time", context.DeadlineExceeded
	case wraps[*tls.CertificateVerificationError](err), wraps[tls.RecordHeaderError](err), wraps[tls.AlertError](err):
		e.Reason = c.kind + ": TLS: the receiver's certificate is not trusted, or it does not speak TLS"
	case wraps[*net.DNSError](err):
		e.Reason = c.kind + ": the host's name cannot be looked up"
	case wraps[*net.OpError](err):
		e.Reason = c.kind + ": the receiver cannot be reached"
	}
	return e
}

// wraps reports whether err is an E or wraps one.
func wraps[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
