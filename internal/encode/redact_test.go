package encode

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"dial amqp://user:s3cr3t@host/vhost: refused":    "dial amqp://user:***@host/vhost: refused",
		"postgres://u:p%40ss@h:5432/db?sslmode=disable":  "postgres://u:***@h:5432/db?sslmode=disable",
		"https://example.com:8080/path: 404":             "https://example.com:8080/path: 404",
		"host=db user=u password=s3cr3t dbname=d":        "host=db user=u password=*** dbname=d",
		`body {"api_key": "s3cr3t", "id": 7}`:            `body {"api_key": ***, "id": 7}`,
		"Authorization: Bearer eyJhbGciOi.J9-_x refused": "Authorization: Bearer *** refused",
		"the bearer of bad news":                         "the bearer of bad news",
		"GET /?access_token=s3cr3t&x=1":                  "GET /?access_token=***&x=1",
		"customer 7 has no address":                      "customer 7 has no address",
	} {
		if got := Redact(text, nil); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := Redact("card 4111", func(s string) string { return strings.ReplaceAll(s, "4111", "…") }); got != "card …" {
		t.Errorf("%q", got)
	}
	if got := Redact("card 4111", func(string) string { panic("4111") }); strings.Contains(got, "4111") {
		t.Errorf("%q", got)
	}
	if got := Redact(strings.Repeat("é", maxRedacted), nil); len(got) > maxRedacted {
		t.Errorf("%d bytes", len(got))
	}
}
