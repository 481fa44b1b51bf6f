package sqlrun

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/encode"
)

// Instant scans a time: PostgreSQL's type, or microseconds since 1970. NULL is zero.
type Instant time.Time

func (i *Instant) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*i = Instant{}
	case time.Time:
		*i = Instant(v.UTC())
	case int64:
		*i = Instant(time.UnixMicro(v).UTC())
	default:
		return fmt.Errorf("a time is %T", v)
	}
	return nil
}

// Span scans a duration in microseconds. NULL is 0.
type Span time.Duration

func (s *Span) Scan(v any) error {
	us, ok := v.(int64)
	if !ok && v != nil {
		return fmt.Errorf("a duration is %T, not microseconds", v)
	}
	*s = Span(time.Duration(us) * time.Microsecond)
	return nil
}

// Blob scans bytes. Empty bytes are not nil; NULL is.
type Blob []byte

func (b *Blob) Scan(v any) error {
	bytes, err := Bytes(v)
	if *b = nil; bytes != nil {
		*b = append(make([]byte, 0, len(bytes)), bytes...)
	}
	return err
}

// Headers scans metadata. It is never nil; NULL has none.
type Headers map[string]string

func (h *Headers) Scan(v any) error {
	bytes, err := Bytes(v)
	if len(bytes) == 0 {
		*h = Headers{}
		return err
	}
	m, err := encode.ParseMetadata(bytes)
	*h = m
	return err
}

// JSON scans JSON into the value that into points to.
func JSON(into any) sql.Scanner { return document{into} }

type document struct{ into any }

func (d document) Scan(v any) error {
	bytes, err := Bytes(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(bytes, d.into)
}

// Bytes returns a column's bytes as the database gave them; nil for NULL.
func Bytes(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []byte:
		if v == nil {
			return []byte{}, nil // some drivers return this for no bytes
		}
		return v, nil
	case string:
		return []byte(v), nil
	}
	return nil, fmt.Errorf("bytes are %T", v)
}

// Strings returns list as a JSON array; nil as null.
func Strings(list []string) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic("sqlrun: " + err.Error()) // strings always have a JSON form
	}
	return string(b)
}

// place is the form of the column coordinates: where the broker had a message, and since
// when.
type place struct {
	headrace.Coordinates
	Time time.Time `json:"time,omitzero"`
}

// Coordinates returns the coordinates and the time of d as JSON.
func Coordinates(d *headrace.Delivery) string {
	p := place{Coordinates: d.Coordinates, Time: d.Time.UTC()}
	if y := p.Time.Year(); y < 0 || y > 9999 { // which JSON has no form for
		p.Time = time.Time{}
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic("sqlrun: " + err.Error()) // strings and such a time always have a JSON form
	}
	return string(b)
}

// Place scans what Coordinates has written.
func Place(d *headrace.Delivery) sql.Scanner { return placed{d} }

type placed struct{ d *headrace.Delivery }

func (p placed) Scan(v any) error {
	var at place
	if err := (document{&at}).Scan(v); err != nil {
		return err
	}
	p.d.Coordinates, p.d.Time = at.Coordinates, at.Time
	return nil
}
