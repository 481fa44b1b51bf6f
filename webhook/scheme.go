package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Errors of the presets. They are for the log: the answer is 401 without a reason.
var (
	// ErrSignature matches the error of a request whose signature is missing, malformed, or
	// made with none of the secrets.
	ErrSignature = errors.New("the signature does not fit")
	// ErrTime matches the error of a request whose signed time is more than 5 minutes away.
	ErrTime = errors.New("the signed time is more than 5 minutes away")

	errTooOld   = fmt.Errorf("%w: it is too old, as in a request that is sent again under its old signature", ErrTime)
	errTooNew   = fmt.Errorf("%w: it is in the future: is this machine's clock right?", ErrTime)
	errNoSecret = fmt.Errorf("%w: it was made with none of the secrets, or for another body", ErrSignature)
)

// tolerance is how far a signed time may be from ours, as Stripe and Standard Webhooks say.
const tolerance = 5 * time.Minute

// Request is what a Verifier verifies.
type Request struct {
	// Header are the request's headers, under their canonical names. They must not be
	// changed.
	Header http.Header
	// Body is the whole body, as the sender sent it. It must not be changed.
	Body []byte
	// Time is now, by Options.Now.
	Time time.Time
}

// Verifier proves that a request is the sender's, and returns the id that the sender gives
// an event in all of its deliveries; "" if it has none. With an error the request is
// refused. The error's text is logged, so it contains no secret and no part of the body.
// Compare signatures with hmac.Equal. It may be called concurrently.
type Verifier func(r Request) (id string, err error)

// Scheme says how a sender signs. Presets make one; for another sender set the fields.
type Scheme struct {
	// Verify is required.
	Verify Verifier
	// SignsID says that the signature covers the id that Verify returns, so that a request
	// cannot be sent again under another id. If it is false, a handler of the endpoint needs
	// a key that is made from the body.
	SignsID bool
	// Headers are stored with a message, under the names that are written here. They are
	// the same in each delivery of an event.
	Headers []string
	// Sign is for tests: it returns the headers with which the sender would send body at a
	// time, under an id where a header has it, signed with the first secret. Presets set it, and
	// nothing of this package calls it. It may be called concurrently.
	Sign func(id string, at time.Time, body []byte) map[string]string

	mistake error
}

// validate returns an error that says what to correct.
func (s Scheme) validate() error {
	if s.mistake != nil {
		return s.mistake
	}
	if s.Verify == nil {
		return errors.New("the Scheme has no Verify: use a preset, or set it")
	}
	for _, h := range s.Headers {
		if err := mayStore(h); err != nil {
			return fmt.Errorf("Scheme.Headers: %w", err)
		}
	}
	return nil
}

// checkSecrets returns an error that names the first secret that cannot be one. It does not
// contain the secret.
func checkSecrets(preset string, secrets []string) error {
	if len(secrets) == 0 {
		return fmt.Errorf("webhook.%s was given no secret: every request would be refused", preset)
	}
	for i, s := range secrets {
		switch {
		case s == "":
			return fmt.Errorf("webhook.%s: secret %d of %d is empty, and everyone can sign with it: is its environment variable set?", preset, i+1, len(secrets))
		case strings.TrimSpace(s) != s:
			return fmt.Errorf("webhook.%s: secret %d of %d begins or ends with white space: remove it (a file may end with a newline)", preset, i+1, len(secrets))
		}
	}
	return nil
}

// recent returns nil if text, seconds since 1970, is at most the tolerance away from now.
func recent(text string, now time.Time) error {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: it has no time", ErrSignature)
	}
	if away := now.Sub(time.Unix(seconds, 0)); away > tolerance || away < -tolerance {
		if away < 0 {
			return errTooNew
		}
		return errTooOld
	}
	return nil
}

// unsigned is the error of a request without a signature that fits. It names the header that is
// missing, and never a value.
func unsigned(h http.Header, names ...string) error {
	for _, name := range names {
		if h.Get(name) == "" {
			return fmt.Errorf("%w: the request has no header %s", ErrSignature, name)
		}
	}
	return errNoSecret
}
