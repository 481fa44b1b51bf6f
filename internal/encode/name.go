package encode

import (
	"fmt"
	"strings"
)

// maxNameBytes is the longest name of a consumer or handler.
const maxNameBytes = 120

// Name returns why name cannot be what is called what, or nil.
func Name(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is empty", what)
	case len(name) > maxNameBytes:
		return fmt.Errorf("%s is longer than %d bytes", what, maxNameBytes)
	case !Clean(name):
		return fmt.Errorf("%s %q is not text", what, name)
	}
	return nil
}

// ConsumerName returns why name cannot be a consumer's, or nil: with the handler's
// name it is a scope, and a slash stands between them.
func ConsumerName(name string) error {
	if err := Name("name", name); err != nil {
		return err
	}
	if strings.Contains(name, "/") {
		return fmt.Errorf("name %q contains a slash", name)
	}
	return nil
}
