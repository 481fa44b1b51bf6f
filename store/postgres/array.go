package postgres

import (
	"encoding/hex"
	"strconv"
)

// This file formats the arrays of the hot path: one text each, without the copies that
// pq.Array makes. They go to unnest with a cast.

// texts is one field of the rows as a text[].
func texts[R any](rows []R, field func(*R) string) string {
	n := 2
	for i := range rows {
		n += len(field(&rows[i])) + 3
	}
	b := append(make([]byte, 0, n), '{')
	for i := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = appendQuoted(b, field(&rows[i]))
		b = append(b, '"')
	}
	return string(append(b, '}'))
}

// appendQuoted appends s, escaped for an array's quoted element.
func appendQuoted(b []byte, s string) []byte {
	from := 0
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(append(b, s[from:i]...), '\\')
			from = i
		}
	}
	return append(b, s[from:]...)
}

// integers is one field of the rows as an array of integers.
func integers[R any](rows []R, field func(*R) int64) string {
	b := append(make([]byte, 0, 2+5*len(rows)), '{')
	for i := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, field(&rows[i]), 10)
	}
	return string(append(b, '}'))
}

// blobs is a bytea[]; nil is NULL, which pq.Array writes as no bytes.
func blobs(rows [][]byte) string {
	n := 2
	for _, row := range rows {
		n += hex.EncodedLen(len(row)) + 6
	}
	b := append(make([]byte, 0, n), '{')
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		if row == nil {
			b = append(b, "NULL"...)
			continue
		}
		b = append(hex.AppendEncode(append(b, `"\\x`...), row), '"')
	}
	return string(append(b, '}'))
}
