package dlq

import (
	"fmt"

	"github.com/headrace/headrace/internal/encode"
)

// Limits of a chain: errors, and bytes of each.
const (
	maxLinks = 16
	maxLink  = 500
)

// chainOf returns the types and messages of links: "*fs.PathError: open f: no such file".
// If there are more errors than maxLinks the last entry says so.
func chainOf(links []error, redact func(string) string) []string {
	texts := make([]string, 0, len(links))
	for _, err := range links {
		if len(texts) == maxLinks-1 && len(links) > maxLinks {
			return append(texts, "[… more errors]")
		}
		texts = append(texts, encode.Text(fmt.Sprintf("%T: %s", err, encode.Redact(messageOf(err), redact)), maxLink))
	}
	return texts
}

// reasonOf returns links without those behind an error that has a method OneReason: its text is
// the whole reason, whatever it wraps.
func reasonOf(links []error) []error {
	for i, err := range links {
		if _, ok := err.(interface{ OneReason() }); ok {
			return links[:i+1]
		}
	}
	return links
}

// messageOf returns the message of err, or a text that says that its Error method
// panicked.
func messageOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("(the Error method of %T panicked)", err)
		}
	}()
	return err.Error()
}

// plain are the types that say nothing about the reason of an error.
var plain = map[string]bool{
	"*errors.errorString": true, "*errors.joinError": true,
	"*fmt.wrapError": true, "*fmt.wrapErrors": true,
}

// typeOf returns the innermost type that is not plain: the inner types say what went
// wrong, the outer ones where it was noticed. If all are plain it returns the outermost
// type.
func typeOf(links []error) string {
	for i := len(links) - 1; i >= 0; i-- {
		if name := fmt.Sprintf("%T", links[i]); !plain[name] {
			return name
		}
	}
	return fmt.Sprintf("%T", links[0])
}

// codeOf returns the first code in links, and the error that has it. A code is an
// SQLState, or the result of a Code or ErrorCode method, as clients of SQLite, clouds and
// RPC have.
func codeOf(links []error) (string, error) {
	for _, err := range links {
		if c := codeOfOne(err); c != "" {
			return c, err
		}
	}
	return "", nil
}

// codeOfOne is encode.Code, "" if the method panics.
func codeOfOne(err error) (c string) {
	defer func() {
		if recover() != nil {
			c = ""
		}
	}()
	return encode.Code(err)
}
