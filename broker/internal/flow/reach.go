package flow

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Reach adds to an error the option to check, if the server did not answer; otherwise it
// returns err.
func Reach(err error, option string) error {
	var network net.Error // also of an invalid address
	if err == nil || errors.Is(err, context.Canceled) || !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &network) {
		return err
	}
	return fmt.Errorf("%w (no answer: is the address of option %s right, and the server up?)", err, option)
}
