// Package shop is what the handlers before and after have in common: the messages, and
// a check that fails now and then.
package shop
