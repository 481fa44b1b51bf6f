package encode

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
)

// maxNameBytes is the longest name of a consumer or handler.
const maxNameBytes = 120

// Name returns an error if name is not valid, or nil. what is used in the error. Each name is
// another identity, so one that an environment variable gave a newline is refused.
func Name(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is empty", what)
	case len(name) > maxNameBytes:
		return fmt.Errorf("%s is longer than %d bytes", what, maxNameBytes)
	case !Clean(name):
		return fmt.Errorf("%s %q is not text", what, name)
	}
	return Seen(what, name)
}

// Seen returns an error if name has a blank at an edge, or a control or format character: a
// name that looks like another and is not.
func Seen(what, name string) error {
	switch {
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("%s %q begins or ends with a blank", what, name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%s %q has a control character", what, name)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.Cf, r) }):
		return fmt.Errorf("%s %q has a format character, which is not seen", what, name)
	}
	return nil
}

// ConsumerName returns an error if name is not valid for a consumer, or nil. It must not
// contain a slash: a scope is the consumer's name, a slash and the handler's name.
func ConsumerName(name string) error { return noSlash("name", name) }

// OutboxName returns an error if name is not valid for an outbox in Options.Outbox, or
// nil. It must not contain a slash: the names of consumers' lines do.
func OutboxName(name string) error { return noSlash("Options.Outbox", name) }

// MaxTopic is the longest topic, in bytes.
const MaxTopic = 1 << 10

// Topic returns an error if name is not valid for a topic, or nil. what is used in the
// error. A blank at an edge, or a control or format character, is a typing mistake, and few brokers
// reject it: they have another topic of that name, or make one.
func Topic(what, name string) error {
	switch err := Check(what, name, MaxTopic); {
	case name == "":
		return fmt.Errorf("%s is empty", what)
	case err != nil:
		return err
	}
	return Seen(what, name)
}

func noSlash(what, name string) error {
	if err := Name(what, name); err != nil {
		return err
	}
	if strings.Contains(name, "/") {
		return fmt.Errorf("%s %q contains a slash", what, name)
	}
	return nil
}

// Fit returns key, or a hash of it if it is longer than most bytes or is not text. Only
// the equality of keys matters.
func Fit(key string, most int) string {
	if len(key) <= most && Clean(key) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}
