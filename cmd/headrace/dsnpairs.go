package main

import (
	"regexp"
	"slices"
	"strings"
)

// plain are the keys of a DSN of pairs whose values are shown. For other pairs even the
// key is hidden: it may be misspelled, or the rest of a password with a space.
var plain = map[string]bool{
	"host": true, "hostaddr": true, "port": true, "user": true, "dbname": true, "database": true, "sslmode": true,
	"connect_timeout": true, "application_name": true,
}

// parsePairs parses a DSN of key=value pairs, in the form of PostgreSQL's own programs.
func parsePairs(dsn string) (database, error) {
	db := database{postgres: dsn}
	for rest := strings.TrimSpace(dsn); rest != ""; {
		key, value, written, after, ok := nextPair(rest)
		if !ok {
			return database{}, usagef("the DSN cannot be read: give %s%s", forms, notShown)
		}
		rest = after
		switch {
		case plain[key]:
			db.shown += " " + key + "=" + value
			continue
		case slices.Contains(passwords, key):
			db.shown += " " + key + "=xxxxx"
		default:
			db.shown += " xxxxx"
		}
		db.secrets = append(db.secrets, value, written)
	}
	if db.shown == "" {
		return database{}, usagef("the DSN is empty: give %s", forms)
	}
	db.shown = db.shown[1:]
	return db, nil
}

// pairKey is the key of a pair, up to its value.
var pairKey = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*`)

// nextPair parses the first pair of s: its key, its value decoded and as written, and the
// rest of s.
func nextPair(s string) (key, value, written, after string, ok bool) {
	found := pairKey.FindStringSubmatch(s)
	if found == nil {
		return "", "", "", "", false
	}
	s = s[len(found[0]):]
	quoted := strings.HasPrefix(s, "'")
	var b strings.Builder
	i := 0
	if quoted {
		i = 1
	}
	for ; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			c = s[i]
		case quoted && c == '\'':
			return found[1], b.String(), s[1:i], strings.TrimSpace(s[i+1:]), true
		case !quoted && strings.IndexByte(" \t\r\n\v\f", c) >= 0:
			return found[1], b.String(), s[:i], strings.TrimSpace(s[i:]), true
		}
		b.WriteByte(c)
	}
	return found[1], b.String(), s, "", !quoted
}
