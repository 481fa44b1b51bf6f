package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/headrace/headrace/internal/inspect"
)

// FuzzDSN: no password is ever shown, by what is shown of a DSN and by errors neither.
func FuzzDSN(f *testing.F) {
	for _, s := range []string{
		"postgres://user:canary@host:5432/db", "postgres://user:can%61ry@h/db?password=canary", "host=h password='can\\'ary' dbname=d",
		"sqlite:canary.db", "sqlite:", "postgres://%zz", "password=canary", "passfile = x host", "postgres://a:b@c@d/e", "user=a options='-c x'",
	} {
		f.Add(s, "canary")
	}
	f.Fuzz(func(t *testing.T, dsn, password string) {
		db, err := parseDSN(dsn)
		if err == nil && db.postgres == "" && db.sqlite == "" || err != nil && db.shown != "" {
			t.Fatalf("%q: %+v, %v", dsn, db, err)
		}
		if strings.Contains(password, " ") || len(password) < 6 || strings.ContainsAny(password, `'\%/?#@:&=[]`) || strings.Contains("postgres://user:xxxxx@host/db host=h password=xxxxx", password) {
			return
		}
		for _, secret := range []string{"postgres://user:" + password + "@host/db", "postgres://host/db?password=" + password, "host=h password=" + password, dsn + " password=" + password} {
			if db, err := parseDSN(secret); err == nil && db.sqlite == "" && strings.Contains(db.shown, password) && !strings.Contains(dsn, password) && !strings.HasPrefix(secret, dsn+" ") {
				t.Fatalf("%q shows %q", secret, db.shown)
			}
			if _, err := parseDSN(secret); err != nil && !strings.Contains(dsn, password) && strings.Contains(err.Error(), password) {
				t.Fatalf("%q: %v", secret, err)
			}
		}
	})
}

// FuzzTime: a time or an age is read, and never lies in the future of what was said.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"", "24h", "7d", "-1d", "0d", "1e9d", "106751d", "106752d", "9223372036854775807d", "2026-01-31T12:00:00Z", "tomorrow", "1h-1h", "30"} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseTime("since", s, now)
		if d, ok := inspect.Age(s); ok && (d <= 0 || err != nil || !got.Equal(now.Add(-d)) || !got.Before(now)) {
			t.Fatalf("%q: %s, %v, %s", s, d, err, got)
		}
		if err != nil && !got.IsZero() || err == nil && got.IsZero() && s != "" && !strings.HasPrefix(s, "0001-01-01T") {
			t.Fatalf("%q: %s, %v", s, got, err)
		}
	})
}

// FuzzIDs: stdin holds positive numbers, one a line, or is refused by its line.
func FuzzIDs(f *testing.F) {
	for _, s := range []string{"", "1", "1\n2\r\n\n 3 ", "0", "-1", "9223372036854775808", "+1", "1 2", "\x00", strings.Repeat("1", 70000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ids, err := parseLines(strings.NewReader(s))
		if (err == nil) != (len(ids) > 0) {
			t.Fatalf("%q: %v, %v", s, ids, err)
		}
		for _, id := range ids {
			if id < 1 {
				t.Fatalf("%q: %v", s, ids)
			}
		}
		if err != nil && len(err.Error()) > 400 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
	})
}

// FuzzVisible: a terminal is told nothing but characters, and JSON stays what it says.
func FuzzVisible(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31m", "\r\n", "\u202e", "\xff", "\u0085", "🙂", "\U000e0001", "\x7f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := visible(s); strings.IndexFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) }) >= 0 {
			t.Fatalf("%q shows as %q", s, got)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var was, is string
		if err := json.Unmarshal(text, &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(visibleJSON(text), &is); err != nil || !reflect.DeepEqual(is, was) {
			t.Fatalf("%q became %q, %v", was, is, err)
		}
	})
}
