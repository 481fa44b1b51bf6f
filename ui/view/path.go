package view

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Number parses a number; 0 if s is none.
func Number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// At is a path of ours made of constant words, numbers and hexadecimal digits, for places that must
// not contain data.
func At(root string, parts ...any) (string, error) {
	for _, part := range parts {
		s := fmt.Sprint(part)
		if s == "" || strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
			return "", fmt.Errorf("%q is no part of a path", s)
		}
		root += "/" + s
	}
	if len(parts) == 0 {
		root += "/"
	}
	return root, nil
}

// To is a path of ours with a query, for an href: pairs are names and values; those without a value
// are left out.
func To(root, path string, pairs ...string) string {
	q := make(url.Values)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	path = root + "/" + path
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// Next is the address of the same list from a cursor on; "" at its end.
func Next(list *url.URL, cursor int64) string {
	if cursor == 0 {
		return ""
	}
	q := list.Query()
	q.Set("cursor", strconv.FormatInt(cursor, 10))
	return list.Path + "?" + q.Encode()
}
