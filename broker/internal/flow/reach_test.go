package flow_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

func TestUnavailable(t *testing.T) {
	dial := func(addr string) error {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	op := func(err error) error { return &net.OpError{Op: "dial", Err: err} }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"refused":          {dial("127.0.0.1:1"), true},
		"reset":            {op(os.NewSyscallError("read", syscall.ECONNRESET)), true},
		"broken pipe":      {syscall.EPIPE, true},
		"timeout":          {op(os.ErrDeadlineExceeded), true},
		"deadline":         {fmt.Errorf("ask: %w", context.DeadlineExceeded), true},
		"end":              {io.EOF, true},
		"end in the midst": {io.ErrUnexpectedEOF, true},
		"host":             {op(&net.DNSError{Err: "no such host", IsNotFound: true}), true},
		"through HTTP":     {get("http://127.0.0.1:1"), true},
		"none":             {nil, false},
		"cancelled":        {op(context.Canceled), false},
		"no port":          {dial("127.0.0.1"), false},
		"port's name":      {dial("127.0.0.1:nosuchport"), false},
		"port's number":    {dial("127.0.0.1:99999"), false},
		"no URL":           {get("http://[::1"), false},
		"scheme":           {get("gopher://127.0.0.1"), false},
		"certificate":      {op(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), false},
		"alert":            {op(tls.AlertError(42)), false},
		"no TLS":           {tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, false},
		"refusal":          {errors.New("no such queue"), false},
	} {
		if got := flow.Unavailable(c.err); got != c.want {
			t.Errorf("%s: %t: %v", name, got, c.err)
		}
		err := flow.Reach(c.err, "Options.Addr")
		if errors.Is(err, consumer.ErrUnavailable) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: Reach: %v", name, err)
		}
	}
}

func get(address string) error {
	answer, err := http.Get(address)
	if err == nil {
		_ = answer.Body.Close()
	}
	var wrapped *url.Error
	if !errors.As(err, &wrapped) {
		return fmt.Errorf("not what an HTTP client returns: %w", err)
	}
	return err
}

func TestHealth(t *testing.T) {
	asked := 0
	var answer error
	ask := func(context.Context) error { asked++; return answer }
	var h flow.Health
	is := func(want error, times int) {
		t.Helper()
		if err := h.Err(t.Context(), ask); !errors.Is(err, want) || asked != times {
			t.Fatalf("%v after %d questions, want %v after %d", err, asked, want, times)
		}
	}
	answer = errors.New("away")
	is(answer, 1)
	is(answer, 2) // a failure is no answer
	answer = nil
	is(nil, 3)
	is(nil, 3) // the answer is fresh
	refused := errors.New("refused")
	h.Is(refused)
	is(refused, 3)
	h.Is(nil)
	is(nil, 3)
}
