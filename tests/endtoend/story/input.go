package story

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/tests/endtoend/shopify"
)

// maxLine bounds a line of the input, in bytes; what a line holds beyond that is not kept.
const maxLine = 64 << 20

// input reads webhooks as a gateway exports them, one JSON object a line:
//
//	{"id": "…", "key": "…", "headers": {"…": "…"}, "payload": <any JSON>}
//
// with payload_base64 instead of payload for bytes that are no JSON. Every line becomes a webhook: one that is
// broken carries the line's bytes as its payload and the reason in shopify.LineHeader. Empty lines are passed over.
type input struct {
	lines *bufio.Reader
	name  string // of the file, for coordinates
	n     int    // lines read
	limit int
}

func newInput(r io.Reader, name string) *input {
	return &input{lines: bufio.NewReaderSize(r, 256<<10), name: name, limit: maxLine}
}

// next implements stream.
func (in *input) next(context.Context) (webhook, error) {
	for {
		line, cut, err := in.line()
		if err != nil {
			return webhook{}, err
		}
		if len(line) == 0 {
			continue
		}
		w := in.webhook(line, cut)
		w.At = headrace.Coordinates{Broker: "file", Topic: in.name, Position: "line " + strconv.Itoa(in.n)}
		return w, nil
	}
}

func (in *input) webhook(line []byte, cut bool) webhook {
	if cut {
		return in.broken("", line, fmt.Errorf("the line is longer than %d MiB; the rest of it is not kept", in.limit>>20))
	}
	w, err := parse(line)
	if err != nil {
		return in.broken(w.ID, line, err)
	}
	return w
}

// broken keeps a line as it is.
func (in *input) broken(id string, line []byte, reason error) webhook {
	return webhook{ID: id, Payload: line, Headers: map[string]string{
		shopify.LineHeader: fmt.Sprintf("line %d of the input: %v", in.n, reason),
	}}
}

// line returns the next line without its end, in memory of its own, and whether it was cut; io.EOF after the
// last.
func (in *input) line() (line []byte, cut bool, err error) {
	read := 0
	for {
		part, err := in.lines.ReadSlice('\n')
		read += len(part)
		room := in.limit - len(line)
		if content := bytes.TrimRight(part, "\r\n"); len(content) > room {
			part, cut = part[:room], true
		}
		line = append(line, part[:min(len(part), in.limit-len(line))]...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && read == 0:
			return nil, false, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, false, fmt.Errorf("read line %d of the input: %w", in.n+1, err)
		}
		if in.n++; in.n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		return bytes.TrimSpace(line), cut, nil
	}
}

// members are those of a line.
var members = []string{"id", "key", "headers", "payload", "payload_base64"}

// parse reads one line. With an error the webhook has its id, where there is one.
func parse(line []byte) (webhook, error) {
	fields, err := shopify.Members(line)
	if err != nil {
		return webhook{}, err
	}
	var w webhook
	if w.ID, err = text(fields["id"]); err != nil {
		return w, fmt.Errorf("its id is %w", err)
	}
	if w.OrderKey, err = text(fields["key"]); err != nil {
		return w, fmt.Errorf("its key is %w", err)
	}
	if w.Headers, err = headers(fields["headers"]); err != nil {
		return w, err
	}
	payload, plain := fields["payload"]
	encoded, coded := fields["payload_base64"]
	switch {
	case plain && coded:
		return w, errors.New("it has both payload and payload_base64")
	case !plain && !coded:
		return w, errors.New("it has neither payload nor payload_base64")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(members, name) { // a typing error, or data that would be lost
			return w, fmt.Errorf("it has a member %q: it may have %s", name, strings.Join(members, ", "))
		}
	}
	if plain {
		w.Payload = payload
		return w, nil
	}
	var s string
	if err := json.Unmarshal(encoded, &s); err != nil {
		return w, errors.New("its payload_base64 is not a string")
	}
	if w.Payload, err = base64.StdEncoding.DecodeString(s); err != nil {
		return w, errors.New("its payload_base64 is not base64")
	}
	return w, nil
}

// text reads a string, or a number as it is written; absent and null are "".
func text(raw json.RawMessage) (string, error) {
	switch {
	case len(raw) == 0 || raw[0] == 'n':
		return "", nil
	case raw[0] == '"':
		var s string
		return s, json.Unmarshal(raw, &s)
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return string(raw), nil
	}
	return "", errors.New(shopify.Kind(raw))
}

// headers reads an object. A list of values, as gateways write a repeated header, is joined with ", ".
func headers(raw json.RawMessage) (map[string]string, error) {
	if len(raw) == 0 || raw[0] == 'n' {
		return map[string]string{}, nil
	}
	fields, err := shopify.Members(raw)
	if err != nil {
		return nil, fmt.Errorf("its headers are no object: %w", err)
	}
	all := make(map[string]string, len(fields))
	for name, value := range fields {
		var list []json.RawMessage
		if value[0] != '[' {
			list = []json.RawMessage{value}
		} else if err := json.Unmarshal(value, &list); err != nil {
			return nil, fmt.Errorf("a header is not a list: %w", err)
		}
		values := make([]string, len(list))
		for i, v := range list {
			if values[i], err = text(v); err != nil {
				values[i] = string(v)
			}
		}
		all[name] = strings.Join(values, ", ")
	}
	delete(all, shopify.LineHeader) // ours: no other code says what is wrong with a line
	return all, nil
}
