package codec_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/codec"
	"pgregory.net/rapid"
)

type order struct {
	ID    int       `json:"id"`
	Total string    `json:"total_price"`
	Small int8      `json:"small"`
	Paid  bool      `json:"paid"`
	At    time.Time `json:"at"`
	Lines []struct {
		SKU string `json:"sku"`
	} `json:"lines"`
	Buyer *struct {
		Name string `json:"name"`
	} `json:"buyer"`
	Price float64 `json:"price"`
	Any   any     `json:"any"`
}

// INVARIANTS 3: 1-9, 14, 15; invariant 20: an error shows nothing of the payload.
func TestJSONDecodeErrors(t *testing.T) {
	for payload, want := range map[string]string{
		"":                                "not JSON: the payload is empty",
		" \n":                             "not JSON: the payload is empty",
		`{"id": 1, "t`:                    "not JSON: unexpected end at byte 12",
		`{"id":1`:                         "not JSON: unexpected end at byte 7",
		"\x00\x00\x00\x00\x01secret":      "not JSON: it begins with a zero byte, as Avro and Protobuf of a schema registry do",
		"\x1f\x8b\x08secret":              "not JSON: it is compressed with gzip",
		"\xff\xfe{\x00":                   "not JSON: it looks like UTF-16, and UTF-8 is expected",
		"\xff":                            "not JSON: unexpected character at byte 0",
		"\ufeff{}":                        "not JSON: it begins with a byte order mark",
		"secret":                          "not JSON: unexpected character at byte 0",
		`{"id":secret}`:                   "not JSON: unexpected character at byte 6",
		`{"id":1} secret`:                 "not JSON: unexpected character at byte 9",
		`{"id":1}{"id":2}`:                "not JSON: unexpected character at byte 8",
		`{"total_price":1234}`:            "field total_price: string expected, number found at byte 15",
		`{"id":"secret"}`:                 "field id: number expected, string found at byte 6",
		`{"id":1e400}`:                    "field id: number does not fit int at byte 6",
		`{"id":10492.5}`:                  "field id: number does not fit int at byte 6",
		`{"small":1234}`:                  "field small: number does not fit int8 at byte 9",
		`{"price":1e400}`:                 "field price: number does not fit float64 at byte 9",
		`{"paid":"secret"}`:               "field paid: true or false expected, string found at byte 8",
		`{"id":true}`:                     "field id: number expected, true or false found at byte 6",
		`{"lines":{"secret":1}}`:          "field lines: array expected, object found at byte 9",
		`{"lines":[{"sku":["secret"]}]}`:  "field lines.sku: string expected, array found at byte 17",
		`{"buyer":{"name":{"secret":1}}}`: "field buyer.name: string expected, object found at byte 17",
		`["secret"]`:                      "object expected, array found at byte 0",
		`{"at":"secret"}`:                 "field at: time in RFC 3339 expected, another value found at byte 6",
		strings.Repeat("[", 100_000):      "not JSON: unexpected character at byte 10000",
		`{"any":` + strings.Repeat("9", 400) + `}`: "field any: number does not fit float64 at byte 7",
	} {
		var o order
		err := codec.JSON().Decode([]byte(payload), &o)
		if !errors.Is(err, codec.ErrUndecodable) || err.Error() != want {
			t.Errorf("%.40q:\n got  %v\n want %s", payload, err, want)
		}
		var e *codec.Error
		if !errors.As(err, &e) || errors.Unwrap(err) != nil {
			t.Errorf("%.40q: %#v is no *codec.Error, or wraps another one", payload, err)
		}
	}
}

// embedded and parcel have fields of each kind that encoding/json knows.
type embedded struct {
	Weight int8 `json:"weight"`
}

type Code string

type parcel struct {
	embedded
	*order
	Code
	To     netip.Addr         `json:"to"`
	Label  []byte             `json:"label"`
	Stops  map[string]*parcel `json:"stops"`
	By     map[int]string     `json:"by"`
	Number int                `json:"number,string"`
	Left   int                `json:"-"`
}

// The error names the field and the byte where its value begins, also in what contains it,
// and where a type refuses the value. It names no key of a map, and no unknown member.
func TestJSONErrorsSayWhere(t *testing.T) {
	for payload, want := range map[string]string{
		` { "to" : "secret" } `: "field to: netip.Addr expected, a value found that it refuses at byte 10",
		`{"label":"secret!"}`:   "field label: base64 expected, another string found at byte 9",
		`{"Weight":1000}`:       "field weight: number does not fit int8 at byte 10",
		`{"id":"secret"}`:       "field id: number expected, string found at byte 6",
		`{"code":true}`:         "field Code: string expected, true or false found at byte 8",
		`{"by":{"secret":"x"}}`: "field by: number does not fit int at byte 6",
		`{"number":"secret"}`:   "field number: a value in a string expected, another value found at byte 10",
		`{"stops":{"secret":{"weight":1},"b":{"to":[1]}}}`:   "field stops.to: string expected, array found at byte 42",
		`{"lines":[{"sku":"a"},{"sku":"b"},{"sku": 5}]}`:     "field lines.sku: string expected, number found at byte 42",
		`{"stops":{"secret":{"lines":[{},{"secret":"x"}]}}}`: "field stops.lines: a member that struct { SKU string \"json:\\\"sku\\\"\" } has no field for at byte 33",
		`{"Left":1}`: "a member that codec_test.parcel has no field for at byte 1",
	} {
		var p parcel
		err := codec.JSON(codec.Strict()).Decode([]byte(payload), &p)
		if !errors.Is(err, codec.ErrUndecodable) || err.Error() != want {
			t.Errorf("%s:\n got  %v\n want %s", payload, err, want)
		}
	}
	deep := strings.Repeat(`{"stops":{"a":`, 3000) + `{"to":"secret"}` + strings.Repeat("}}", 3000)
	var p parcel
	if err := codec.JSON().Decode([]byte(deep), &p); !errors.Is(err, codec.ErrUndecodable) || !strings.HasPrefix(err.Error(), "field stops.stops.") {
		t.Errorf("deep: %v", err)
	}
}

func TestJSONDecodes(t *testing.T) {
	var o order
	if err := codec.JSON().Decode([]byte(" {\"id\":1,\"total_price\":\"9.90\",\"any\":1.5,\"more\":{}}\n"), &o); err != nil {
		t.Fatal(err)
	}
	if o.ID != 1 || o.Total != "9.90" || o.Any != 1.5 {
		t.Errorf("got %+v", o)
	}
	var p *order
	if err := codec.JSON().Decode([]byte("null"), &p); err != nil || p != nil {
		t.Errorf("null: %v, %v", p, err)
	}
}

func TestJSONOptions(t *testing.T) {
	var v map[string]any
	if err := codec.JSON(codec.UseNumber()).Decode([]byte(`{"id":12345678901234567890}`), &v); err != nil || v["id"] != json.Number("12345678901234567890") {
		t.Errorf("got %v, %v", v, err)
	}
	for _, c := range []struct {
		codec         codec.Codec
		payload, want string
	}{
		{codec.JSON(codec.Strict()), `{"id":1,"secret":2}`, "a member that codec_test.order has no field for at byte 8"},
		{codec.JSON(codec.Strict()), `{"at":"secret"}`, "field at: time in RFC 3339 expected, another value found at byte 6"},
		{codec.JSON(codec.Strict()), `{"id":"secret"}`, "field id: number expected, string found at byte 6"},
		{codec.JSON(codec.Strict()), `{"id":1} secret`, "not JSON: unexpected character at byte 9"},
		{codec.JSON(codec.Strict()), " null\n", "null, and no object at byte 0"},
		{codec.JSON(codec.Required("id")), `{"order_id":1}`, "field id: required, and missing or null"},
		{codec.JSON(codec.Required("id")), `{"id":null}`, "field id: required, and missing or null"},
		{codec.JSON(codec.Required("id")), `null`, "field id: required, and missing or null"},
		{codec.JSON(codec.Required("id")), `{"id":"secret"}`, "field id: number expected, string found at byte 6"},
		{codec.JSON(codec.Required("id", "buyer.name")), `{"id":0,"buyer":{}}`, "field buyer.name: required, and missing or null"},
		{codec.JSON(codec.Strict(), codec.Required("id")), `{"secret":1}`, "a member that codec_test.order has no field for at byte 1"},
		{codec.JSON(codec.UseNumber()), `{"id":1} {}`, "not JSON: unexpected character at byte 9"},
		{codec.JSON(codec.UseNumber()), `{"id":1`, "not JSON: unexpected end at byte 7"},
		{codec.JSON(codec.UseNumber()), ``, "not JSON: the payload is empty"},
	} {
		var o order
		err := c.codec.Decode([]byte(c.payload), &o)
		if !errors.Is(err, codec.ErrUndecodable) || err.Error() != c.want {
			t.Errorf("%s:\n got  %v\n want %s", c.payload, err, c.want)
		}
	}
	var o order
	if err := codec.JSON(codec.Required("id", "buyer.name")).Decode([]byte(`{"id":0,"buyer":{"name":""}}`), &o); err != nil {
		t.Errorf("zero values are there: %v", err)
	}
	if err := codec.JSON(codec.Strict(), codec.UseNumber()).Decode([]byte(`{"id":1,"any":2}`), &o); err != nil || o.Any != json.Number("2") {
		t.Errorf("got %v, %v", o.Any, err)
	}
}

// A mistake of the program is not the payload's fault: it must not make dead letters
// of the class undecodable.
func TestJSONTarget(t *testing.T) {
	var none *order
	for _, into := range []any{nil, order{}, none} {
		err := codec.JSON().Decode([]byte(`{"secret":1}`), into)
		if err == nil || errors.Is(err, codec.ErrUndecodable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("into %T: %v", into, err)
		}
	}
}

func TestJSONEncode(t *testing.T) {
	b, err := codec.JSON().Encode(map[string]any{"b": 1, "a": "é"})
	if err != nil || string(b) != `{"a":"é","b":1}` {
		t.Errorf("got %s, %v", b, err)
	}
	if _, err := codec.JSON().Encode(math.NaN()); err == nil {
		t.Error("NaN was encoded")
	}
	if codec.JSON().ContentType() != "application/json" {
		t.Error("content type")
	}
}

// INVARIANT 20. Whatever is wrong with a payload, its content is not in the error.
func TestJSONErrorsShowNothing(t *testing.T) {
	const canary = "canary"
	pieces := rapid.SampledFrom([]string{
		canary, `"canary"`, `"canary":`, "{", "}", "[", "]", ",", `"id":`, `"total_price":`, `"at":"canary"`, `"lines":`, `"buyer":`,
		`"small":`, "424242", `{"stops":{"canary":`, `"to":"canary"`, `"by":{"canary":""}`, "true", "null", " ", "\\", "\xff",
	})
	codecs := []codec.Codec{codec.JSON(), codec.JSON(codec.Strict()), codec.JSON(codec.UseNumber()), codec.JSON(codec.Required("id", "at"))}
	rapid.Check(t, func(t *rapid.T) {
		payload := strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), "")
		for _, c := range codecs {
			var o parcel
			err := c.Decode([]byte(payload), &o)
			if err == nil {
				continue
			}
			if text := err.Error(); !errors.Is(err, codec.ErrUndecodable) || strings.Contains(text, canary) || strings.Contains(text, "4242") {
				t.Fatalf("%q: %s", payload, text)
			}
			var e *codec.Error
			if errors.As(err, &e); e.Offset > int64(len(payload)) || e.Offset < -1 {
				t.Fatalf("%q: offset %d", payload, e.Offset)
			}
		}
	})
}

// FuzzJSON: the codec takes what encoding/json takes, and reads the same.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"id":1}`, `{"at":"2026-01-02T03:04:05Z"}`, `[1]`, `{"id":1}x`, "", "\ufeff", `{"lines":[{"sku":"x"}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var want, got order
		wantErr, err := json.Unmarshal(b, &want), codec.JSON().Decode(b, &got)
		if (err == nil) != (wantErr == nil) || err != nil && !errors.Is(err, codec.ErrUndecodable) {
			t.Fatalf("%q: %v, encoding/json says %v", b, err, wantErr)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, want %+v", b, got, want)
		}
		var number order // more numbers fit, and nothing else
		if err := codec.JSON(codec.UseNumber()).Decode(b, &number); err != nil && wantErr == nil || err == nil && !json.Valid(b) {
			t.Fatalf("%q: with UseNumber: %v", b, err)
		}
	})
}

func TestRequiredNames(t *testing.T) {
	for _, names := range [][]string{{}, {""}, {"a..b"}, {"\xff"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken", names)
				}
			}()
			codec.Required(names...)
		}()
	}
}

func TestNilOption(t *testing.T) {
	defer func() {
		if said := recover(); said != "codec.JSON: option 2 is nil" {
			t.Errorf("it says %v", said)
		}
	}()
	codec.JSON(codec.Strict(), nil)
}
