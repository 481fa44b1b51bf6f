package encode

import (
	"crypto/sha256"
	"encoding/hex"
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

// Fit returns key, or a hash of it where it is longer than most bytes or is not text:
// which keys are equal is all that counts.
func Fit(key string, most int) string {
	if len(key) <= most && Clean(key) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}
