package flow

import (
	"errors"
	"net/url"
)

var errNoURL = errors.New("it is no URL: in a user's name or password, signs such as '%', '/', '@' and ',' are to be escaped, as in %2F")

// WithoutURL returns err without the texts that errors of package url repeat: a whole URL,
// or the invalid part of a password. Of a request that failed it returns why.
func WithoutURL(err error) error {
	var wrapped *url.Error
	if !errors.As(err, &wrapped) {
		return err
	}
	if wrapped.Op == "parse" {
		return errNoURL
	}
	return WithoutURL(wrapped.Err)
}
