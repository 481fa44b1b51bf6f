package alerts

import (
	"bytes"
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
	"strconv"
	"syscall"
	"time"
)

// WebhookOptions change a Webhook. The zero value is right for a receiver in the
// public internet.
type WebhookOptions struct {
	// Timeout bounds a call in all, from the look-up of the name to the end of the
	// answer. At most 5 s. Default 5 s.
	Timeout time.Duration
	// Allow are networks that may be dialed though they are private or special, for a
	// receiver of your own network. Default: none.
	Allow []netip.Prefix
	// Plain takes a URL with http as well: for tests and receivers on this machine,
	// since anybody on the way can read and change what is sent. Default: https only.
	Plain bool
	// RootCAs are who may have signed the receiver's certificate. Default: the
	// system's.
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
//	  "topic": "orders", "class": "permanent", "error_print": "…", "letter_id": 7, "text": "…",
//	  "count": 1, "groups": 1, "since": "2026-01-02T03:04:05Z"}}
//
// The fields of data are those of Alert, timestamp is its At; texts that are empty and
// a letter_id of 0 are left out. A payload, a key or the words of an error are never
// in it.
//
// It is signed by the Standard Webhooks specification
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md),
// for which most languages have a library: the headers webhook-id, which is Alert.ID
// and the same when the alert is tried again, webhook-timestamp in Unix seconds, and
// webhook-signature, "v1," and the base64 of HMAC-SHA256 over "id.timestamp.body".
// secret is what the specification calls so: "whsec_" and 24 to 64 bytes in base64.
//
// Any answer but 2xx is a failure, a redirect too: none is followed. Retry-After of a
// 429 or 503 is kept, for 15 minutes at most. No more than 4 KiB of an answer are
// read. Proxies of the environment are not used. Addresses that are not of the public
// internet are refused when they are dialed, whatever name led to them (ErrAddress).
//
// The error names what is wrong with the arguments, and shows neither the secret nor
// the URL. It may be called by several goroutines at once.
func Webhook(rawURL, secret string, o WebhookOptions) (Hook, error) {
	if o.Timeout < 0 || o.Timeout > maxTimeout {
		return nil, fmt.Errorf("alerts: webhook: option Timeout (%s) is not from 0 to %s: 0 gives the default", o.Timeout, maxTimeout)
	}
	if o.Timeout == 0 {
		o.Timeout = maxTimeout
	}
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
	w := &webhook{url: u, key: k, timeout: o.Timeout, client: client(o)}
	return w.send, nil
}

type webhook struct {
	url     *url.URL
	key     []byte
	timeout time.Duration
	client  *http.Client
}

// client makes a client that keeps nothing between two calls, connections included.
func client(o WebhookOptions) *http.Client {
	dialer := &net.Dialer{
		// It sees the address that a name was resolved to, just before it is dialed: a
		// name that resolves to another address the next time gains nothing.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !mayDial(at.Addr(), o.Allow) {
				return ErrAddress
			}
			return nil
		},
	}
	return &http.Client{
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
		return &HookError{Reason: "webhook: the alert cannot be encoded"}
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url.String(), bytes.NewReader(content))
	if err != nil {
		return &HookError{Reason: "webhook: the request cannot be made"}
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
	// The answer is of no use; reading some of it lets the receiver finish.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	return answered(response, now)
}

// answered is the error of an answer, or nil.
func answered(r *http.Response, now time.Time) error {
	if r.StatusCode >= 200 && r.StatusCode < 300 {
		return nil
	}
	e := &HookError{Reason: fmt.Sprintf("webhook: the receiver answered with status %d", r.StatusCode), Status: r.StatusCode}
	if r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusServiceUnavailable {
		e.RetryAfter = retryAfter(r.Header.Get("Retry-After"), now)
	}
	return e
}

// retryAfter reads the header of that name; 0 where it says nothing.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return min(time.Duration(min(max(seconds, 0), 86400))*time.Second, mostRetryAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), mostRetryAfter)
	}
	return 0
}

// mostRetryAfter is how long a receiver can put off the next try.
const mostRetryAfter = 15 * time.Minute

// failure says what went wrong with a call, without the words of others: they hold
// the URL, or what a receiver sent.
func failure(err error) error {
	e := &HookError{Reason: "webhook: the answer is not one of HTTP"}
	var (
		timeout     net.Error
		certificate *tls.CertificateVerificationError
		handshake   tls.RecordHeaderError
		alert       tls.AlertError
		name        *net.DNSError
		operation   *net.OpError
	)
	switch {
	case errors.Is(err, ErrAddress):
		e.Reason, e.Err = "webhook: "+ErrAddress.Error(), ErrAddress
	case errors.Is(err, context.Canceled):
		e.Reason, e.Err = "webhook: cancelled", context.Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		e.Reason, e.Err = "webhook: no answer in time", context.DeadlineExceeded
	case errors.As(err, &certificate), errors.As(err, &handshake), errors.As(err, &alert):
		e.Reason = "webhook: TLS: the receiver's certificate is not trusted, or it does not speak TLS"
	case errors.As(err, &name):
		e.Reason = "webhook: the host's name cannot be looked up"
	case errors.As(err, &operation):
		e.Reason = "webhook: the receiver cannot be reached"
	}
	return e
}
