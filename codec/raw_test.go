package codec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headrace/headrace/codec"
)

func TestRaw(t *testing.T) {
	c, payload := codec.Raw(), []byte("a\x00\xff")
	var b []byte
	if err := c.Decode(payload, &b); err != nil || &b[0] != &payload[0] || len(b) != 3 {
		t.Errorf("got %q, %v; want the payload itself", b, err)
	}
	var s string
	if err := c.Decode(payload, &s); err != nil || s != "a\x00\xff" {
		t.Errorf("got %q, %v", s, err)
	}
	if err := c.Decode(nil, &b); err != nil || b != nil {
		t.Errorf("a tombstone gives %q, %v", b, err)
	}
	if err := c.Decode(nil, &s); err != nil || s != "" {
		t.Errorf("a tombstone gives %q, %v", s, err)
	}
	if out, err := c.Encode(payload); err != nil || string(out) != "a\x00\xff" {
		t.Errorf("got %q, %v", out, err)
	}
	if out, err := c.Encode("x"); err != nil || string(out) != "x" {
		t.Errorf("got %q, %v", out, err)
	}
	if c.ContentType() != "application/octet-stream" {
		t.Error("content type")
	}
}

func TestRawTarget(t *testing.T) {
	var n int
	var noBytes *[]byte
	var noString *string
	for _, into := range []any{nil, &n, noBytes, noString, []byte{}, ""} {
		err := codec.Raw().Decode([]byte("secret"), into)
		if err == nil || errors.Is(err, codec.ErrUndecodable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("into %T: %v", into, err)
		}
	}
	if _, err := codec.Raw().Encode(struct{ S string }{"secret"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("encode: %v", err)
	}
}

// A type that no payload fits is known before the first message.
func TestRawReads(t *testing.T) {
	typed, ok := codec.Raw().(codec.Typed)
	if !ok {
		t.Fatal("Raw does not say which types it reads")
	}
	for _, into := range []any{new([]byte), new(string)} {
		if err := typed.Reads(into); err != nil {
			t.Errorf("%T: %v", into, err)
		}
	}
	if err := typed.Reads(new(struct{ N int })); err == nil || !strings.Contains(err.Error(), "codec.JSON()") {
		t.Errorf("a struct: %v", err)
	}
}
