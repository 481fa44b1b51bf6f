package flow

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Reach adds to an error that says that nobody answered which option to look at; err itself where the server did.
func Reach(err error, option string) error {
	var network net.Error // of an address that is none too
	if err == nil || errors.Is(err, context.Canceled) || !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &network) {
		return err
	}
	return fmt.Errorf("%w (nobody answers: is the address of option %s right, and the server up?)", err, option)
}
