package alerts

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"
)

// WebhookOptions configure a Webhook. The zero value is right for a receiver on the
// public internet.
type WebhookOptions struct {
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

// Webhook returns a hook that posts each alert as JSON to rawURL:
//
//	{"version": 1, "type": "headrace.first_dead_letter", "timestamp": "2026-01-02T03:04:05Z",
//	 "data": {"id": "alert-…", "kind": "first_dead_letter", "consumer": "billing", "handler": "orders.paid",
//	  "topic": "orders", "class": "permanent", "error_fingerprint": "…", "letter_id": 7, "text": "…",
//	  "count": 1, "groups": 1, "since": "2026-01-02T03:04:05Z"}}
//
// The fields of data are those of Alert, timestamp is its At. Empty texts and a letter_id
// of 0 are left out. It never contains a payload, a key or the text of an error.
//
// The request is signed by the Standard Webhooks specification
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md),
// for which most languages have a library. The headers are webhook-id, which is Alert.ID
// and the same in a retry, webhook-timestamp in Unix seconds, and webhook-signature,
// "v1," and the base64 of HMAC-SHA256 over "id.timestamp.body". secret is the
// specification's secret: "whsec_" and 24 to 64 bytes in base64.
//
// Any response but 2xx is a failure, also a redirect: none is followed. Retry-After of a
// 429 or 503 is observed, up to 15 minutes. At most 4 KiB of a response are read. Proxies
// of the environment are not used. Addresses outside of the public internet are rejected
// when they are dialed, whatever name led to them (ErrAddress).
//
// The error names the mistake in the arguments, and shows neither the secret nor the URL.
// Several goroutines may call Webhook and the hook at once.
func Webhook(rawURL, secret string, o WebhookOptions) (Hook, error) {
	if o.Timeout < 0 || o.Timeout > maxTimeout {
		return nil, fmt.Errorf("alerts: webhook: option Timeout (%s) is not from 0 to %s: 0 gives the default", o.Timeout, maxTimeout)
	}
	o.Timeout = cmp.Or(o.Timeout, maxTimeout)
	for _, p := range o.Allow {
		if !p.IsValid() {
			return nil, errors.New("alerts: webhook: option Allow holds a network that is not one")
		}
	}
	u, err := endpoint(rawURL, o)
	if err != nil {
		return nil, fmt.Errorf("alerts: webhook: %w", err)
	}
	k, err := key(secret)
	if err != nil {
		return nil, fmt.Errorf("alerts: webhook: %w", err)
	}
	return (&webhook{url: u, key: k, client: client(o)}).send, nil
}

type webhook struct {
	url    *url.URL
	key    []byte
	client *http.Client
}

// client makes a client that keeps nothing between two calls, not even connections.
func client(o WebhookOptions) *http.Client {
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

// send is the hook.
func (w *webhook) send(ctx context.Context, a Alert) error {
	content, err := body(a)
	if err != nil {
		return &SendError{Reason: "webhook: the alert cannot be encoded"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url.String(), bytes.NewReader(content))
	if err != nil {
		return &SendError{Reason: "webhook: the request cannot be made"}
	}
	now := time.Now()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "headrace")
	request.Header.Set("webhook-id", a.ID)
	request.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	request.Header.Set("webhook-signature", sign(w.key, a.ID, now, content))
	response, err := w.client.Do(request)
	if err != nil {
		return failure(err)
	}
	defer func() { _ = response.Body.Close() }()
	// The response is not needed; reading some of it lets the receiver finish.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	return answered(response, now)
}

// answered returns the error of a response, or nil.
func answered(r *http.Response, now time.Time) error {
	if r.StatusCode >= 200 && r.StatusCode < 300 {
		return nil
	}
	e := &SendError{Reason: fmt.Sprintf("webhook: the receiver answered with status %d", r.StatusCode), Status: r.StatusCode}
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
func failure(err error) error {
	e := &SendError{Reason: "webhook: the answer is not one of HTTP"}
	switch {
	case errors.Is(err, ErrAddress):
		e.Reason, e.Err = "webhook: "+ErrAddress.Error(), ErrAddress
	case errors.Is(err, context.Canceled):
		e.Reason, e.Err = "webhook: cancelled", context.Canceled
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		e.Reason, e.Err = "webhook: no answer in time", context.DeadlineExceeded
	case wraps[*tls.CertificateVerificationError](err), wraps[tls.RecordHeaderError](err), wraps[tls.AlertError](err):
		e.Reason = "webhook: TLS: the receiver's certificate is not trusted, or it does not speak TLS"
	case wraps[*net.DNSError](err):
		e.Reason = "webhook: the host's name cannot be looked up"
	case wraps[*net.OpError](err):
		e.Reason = "webhook: the receiver cannot be reached"
	}
	return e
}

// wraps reports whether err is an E or wraps one.
func wraps[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
