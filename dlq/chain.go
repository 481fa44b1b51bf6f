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

// Chain returns the types and messages of err and of what it wraps, outermost
// first and joined errors in their order: "*fs.PathError: open f: no such file". At
// most 16 entries of at most 500 bytes; where there is more the last one says so.
func Chain(err error) []string {
	if err == nil {
		return nil
	}
	return chainOf(unwrap(err))
}

func chainOf(links []error) []string {
	texts := make([]string, 0, len(links))
	for _, err := range links {
		if len(texts) == maxLinks-1 && len(links) > maxLinks {
			return append(texts, "[… more errors]")
		}
		texts = append(texts, encode.Text(fmt.Sprintf("%T: %s", err, messageOf(err)), maxLink))
	}
	return texts
}

// unwrap lists err and what it wraps, depth first, at most one more than a chain
// holds, so that a chain knows whether there was more. An error that wraps itself
// ends there too.
func unwrap(err error) []error {
	var links []error
	var walk func(error)
	walk = func(err error) {
		if err == nil || len(links) > maxLinks {
			return
		}
		links = append(links, err)
		for _, inner := range wrapped(err) {
			walk(inner)
		}
	}
	walk(err)
	return links
}

// wrapped returns what err wraps directly; nothing where asking panics, as methods
// of nil pointers do.
func wrapped(err error) (inner []error) {
	defer func() {
		if recover() != nil {
			inner = nil
		}
	}()
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// messageOf returns the message of err, or what there is to say where asking for it
// panics.
func messageOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("(the Error method of %T panicked)", err)
		}
	}()
	return err.Error()
}

// plain are the types that say nothing about an error.
var plain = map[string]bool{
	"*errors.errorString": true, "*errors.joinError": true,
	"*fmt.wrapError": true, "*fmt.wrapErrors": true,
}

// typeOf returns the innermost type that says something: what went wrong, where
// the outer ones say who was told. Plain errors give the outermost type.
func typeOf(links []error) string {
	for i := len(links) - 1; i >= 0; i-- {
		if name := fmt.Sprintf("%T", links[i]); !plain[name] {
			return name
		}
	}
	return fmt.Sprintf("%T", links[0])
}

// codeOf returns the first code that an error of links has, with that error: an
// SQLState, or a Code or ErrorCode method as SQLite, cloud and RPC clients have.
func codeOf(links []error) (string, error) {
	for _, err := range links {
		if c := code(err); c != "" {
			return c, err
		}
	}
	return "", nil
}

func code(err error) (c string) {
	defer func() {
		if recover() != nil {
			c = ""
		}
	}()
	switch e := err.(type) {
	case interface{ SQLState() string }:
		return e.SQLState()
	case interface{ ErrorCode() string }:
		return e.ErrorCode()
	case interface{ Code() string }:
		return e.Code()
	case interface{ Code() int }:
		return fmt.Sprint(e.Code())
	}
	return ""
}
