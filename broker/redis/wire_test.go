package redis

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace/dlq"
	"pgregory.net/rapid"
)

// entry is what Redis gives of the fields.
func entry(t interface{ Fatal(...any) }, m *message.Message) map[string]any {
	fields, err := write(m)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		switch v := fields[i+1].(type) {
		case []byte:
			values[fields[i].(string)] = string(v)
		default:
			values[fields[i].(string)] = v
		}
	}
	return values
}

// TestWhatIsAddedComesBack: any payload, id and metadata.
func TestWhatIsAddedComesBack(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		m := message.NewMessage(text.Draw(t, "id"), []byte(text.Draw(t, "payload")))
		m.Metadata = rapid.MapOf(text, text).Draw(t, "metadata")
		got := read(entry(t, m), false)
		if got.UUID != m.UUID || string(got.Payload) != string(m.Payload) {
			t.Fatalf("id %q, payload %q", got.UUID, got.Payload)
		}
		if diff := cmp.Diff(map[string]string(m.Metadata), map[string]string(got.Metadata)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestAnythingIsRead: TRAPS, redisstream: an entry without its fields is an error there, and
// the channel closes.
func TestAnythingIsRead(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	names := rapid.OneOf(text, rapid.SampledFrom([]string{UUIDField, PayloadField, MetadataField}))
	rapid.Check(t, func(t *rapid.T) {
		values := map[string]any{}
		for name, value := range rapid.MapOf(names, text).Draw(t, "fields") {
			values[name] = value
		}
		if m := read(values, true); m == nil || m.Metadata == nil {
			t.Fatal("no message")
		}
	})
	for _, c := range []struct {
		name     string
		values   map[string]any
		id       string
		payload  string
		metadata map[string]string
	}{
		{"foreign", map[string]any{"id": "7", "total": "250"}, "", `{"id":"7","total":"250"}`, nil},
		{"payload", map[string]any{"payload": "x", "h": "v"}, "", "x", map[string]string{"h": "v"}},
		{"bare id", map[string]any{UUIDField: "u"}, "u", "", nil},
		{"metadata that are none", map[string]any{UUIDField: "u", "payload": "x", "metadata": "{}"}, "u", "x", map[string]string{"metadata": "{}"}},
		{"metadata and more", map[string]any{UUIDField: "u", "payload": "x", "metadata": "\x81\xa1a\xa1b", "h": "v"}, "u", "x", map[string]string{"a": "b", "h": "v"}},
		{"two values", map[string]any{UUIDField: "u", "payload": "x", "metadata": "\x80\x80"}, "u", "x", map[string]string{"metadata": "\x80\x80"}},
		{"a long map that is short", map[string]any{"payload": "x", "metadata": "\xdf\xff\xff\xff\xff"}, "", "x", map[string]string{"metadata": "\xdf\xff\xff\xff\xff"}},
		{"nil", map[string]any{"payload": "x", "metadata": "\xc0"}, "", "x", map[string]string{"metadata": "\xc0"}},
	} {
		m := read(c.values, false)
		if c.metadata == nil {
			c.metadata = map[string]string{}
		}
		if m.UUID != c.id || string(m.Payload) != c.payload || !cmp.Equal(map[string]string(m.Metadata), c.metadata) {
			t.Errorf("%s: id %q, payload %q, metadata %q", c.name, m.UUID, m.Payload, m.Metadata)
		}
	}
	if m := read(map[string]any{"bytes": "\xff"}, true); !json.Valid(m.Payload) {
		t.Errorf("%q is no JSON", m.Payload)
	}
}

// What readers in other languages need are fields of their own, which cost our source no
// second request.
func TestPlainFields(t *testing.T) {
	m := message.NewMessage("m", []byte("x"))
	m.Metadata = message.Metadata{"content-type": "text/plain", dlq.HeaderClass: "exhausted", dlq.HeaderError: "", "other": "v"}
	values := entry(t, m)
	if values["content-type"] != "text/plain" || values[dlq.HeaderClass] != "exhausted" || len(values) != 5 || !watermills(values) {
		t.Errorf("fields %q, known as Watermill's: %t", values, watermills(values))
	}
	if values["more"] = "v"; watermills(values) {
		t.Error("a field of another sender is not seen")
	}
	for id, want := range map[string]time.Time{"1700000000123-7": time.UnixMilli(1_700_000_000_123), "1-1": {}, "x": {}, "": {}} {
		if got := timeOf(id); !got.Equal(want) {
			t.Errorf("the time of %q is %s", id, got)
		}
	}
}

// XADD orders * id 7 n 5 is read into int fields, if the option says so; text stays text.
func TestScalars(t *testing.T) {
	values := map[string]any{
		"id": "7", "total": "-1.50", "big": "12345678901234567890", "paid": "true", "none": "null",
		"zip": "01234", "name": "x", "empty": "", "object": "{}", "quoted": `"q"`, "space": "7 ", "exp": "1e3",
	}
	want := `{"big":12345678901234567890,"empty":"","exp":1e3,"id":7,"name":"x","none":null,"object":"{}","paid":true,"quoted":"\"q\"","space":"7 ","total":-1.50,"zip":"01234"}`
	if got := string(read(values, true).Payload); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(read(map[string]any{"id": "7"}, false).Payload); got != `{"id":"7"}` {
		t.Errorf("without the option: %s", got)
	}
	if got := string(read(map[string]any{"payload": "7", "n": "5"}, true).Payload); got != "7" {
		t.Errorf("of an entry with a payload: %s", got)
	}
}
