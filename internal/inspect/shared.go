package inspect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/jsontext"
	"github.com/headrace/headrace/store"
)

// Bounds of what is read to find what letters share.
const (
	// MaxShared is how many letters of the group, and how many others of its handler, are read.
	MaxShared = 500
	// sharedBytes bounds their payloads, and sharedTime the time.
	sharedBytes = 4 << 20
	sharedTime  = 3 * time.Second
	// sharedPaths bounds the places of a payload, sharedDepth how deep they are; a place with more
	// than fewValues values is told by nothing but that it is there.
	sharedPaths, sharedDepth, fewValues = 300, 8, 12
	// traitsShown is how many traits are told.
	traitsShown = 12
)

// Trait is what letters of a group share, and others of its handler less.
type Trait struct {
	// Where is a place: a JSON path, "header NAME", "build", "host" or "topic". Value is what is
	// there; "is there" for anything, "below 0" for a number.
	Where string `json:"where"`
	Value string `json:"value"`
	// In counts the letters of the group that have it, Out the others.
	In  int `json:"in"`
	Out int `json:"out"`
}

// Shared is what letters of a group share.
type Shared struct {
	// In and Out count the letters of the group, and the others of its handler, that were read.
	In  int `json:"in"`
	Out int `json:"out"`
	// Traits are those with the largest difference, the largest first.
	Traits []Trait `json:"traits"`
}

// ReadShared reads the newest letters of a group and of its handler, and says what the group's
// share. eyes returns what may be seen of a payload and of headers.
func ReadShared(ctx context.Context, st store.Store, g groups.Group, eyes func(payload []byte, headers map[string]string) ([]byte, map[string]string)) (s Shared, err error) {
	end, left := time.Now().Add(sharedTime), sharedBytes
	counts := make(map[[2]string]*Trait)
	read := func(f dlq.Filter, skip string, count func(*Trait)) (n int, err error) {
		list, err := st.Letters().List(ctx, f, 0, MaxShared)
		for _, l := range list {
			if l.ErrorFingerprint == skip || left <= 0 || time.Now().After(end) {
				continue
			}
			whole, err := st.Letters().Get(ctx, l.LetterID)
			if err != nil {
				return n, err
			}
			left -= len(whole.Delivery.Payload)
			n++
			payload, headers := eyes(whole.Delivery.Payload, whole.Delivery.Metadata)
			for trait := range traitsOf(whole, payload, headers) {
				if counts[trait] == nil {
					counts[trait] = &Trait{Where: trait[0], Value: trait[1]}
				}
				count(counts[trait])
			}
		}
		return n, err
	}
	own := dlq.Filter{Consumer: g.Consumer, Handler: g.Handler, ErrorFingerprint: g.ErrorFingerprint, AnyState: true}
	if s.In, err = read(own, "", func(t *Trait) { t.In++ }); err != nil {
		return s, err
	}
	left = sharedBytes
	others := dlq.Filter{Consumer: g.Consumer, Handler: g.Handler, AnyState: true}
	if s.Out, err = read(others, g.ErrorFingerprint, func(t *Trait) { t.Out++ }); err != nil {
		return s, err
	}
	s.Traits = tell(counts, s.In, s.Out)
	return s, nil
}

// tell chooses the traits that tell the group from others.
func tell(counts map[[2]string]*Trait, in, out int) []Trait {
	values, always := make(map[string]int), make(map[string]int)
	for trait, t := range counts {
		values[trait[0]]++
		if t.Value != isThere {
			always[t.Where] = max(always[t.Where], t.In)
		}
	}
	var list []Trait
	for _, t := range counts {
		general := t.Value == isThere || t.Value == below
		if t.In < 2 || !general && values[t.Where] > fewValues || t.share(in, out) < 0.2 || t.Value == isThere && always[t.Where] >= t.In {
			continue
		}
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b Trait) int {
		return cmp.Or(cmp.Compare(b.share(in, out), a.share(in, out)), cmp.Compare(b.In, a.In), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Value, b.Value))
	})
	return list[:min(len(list), traitsShown)]
}

// Percent is a part of all, in percent; 0 of none.
func Percent(n, all int) int { return 100 * n / max(all, 1) }

// share is how much more often letters of the group have it, from -1 to 1.
func (t Trait) share(in, out int) float64 {
	return float64(t.In)/float64(max(in, 1)) - float64(t.Out)/float64(max(out, 1))
}

const (
	isThere = "is there"
	below   = "below 0"
)

// traitsOf are the traits of a letter: pairs of a place and a value.
func traitsOf(l dlq.Letter, payload []byte, headers map[string]string) map[[2]string]bool {
	all := make(map[[2]string]bool)
	for where, value := range map[string]string{"build": l.Build, "host": l.Host, "topic": l.Delivery.Topic} {
		if value != "" {
			all[[2]string{where, value}] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if len(all) < sharedPaths {
			all[[2]string{"header " + name, headers[name]}] = true
			all[[2]string{"header " + name, isThere}] = true
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	var body any
	if jsontext.Depth(payload) <= maxBrackets && decoder.Decode(&body) == nil {
		walk(all, "$", body, 0)
	}
	return all
}

// maxBrackets is how deep a payload may be to be decoded.
const maxBrackets = 100

// walk adds the traits of a value.
func walk(all map[[2]string]bool, path string, value any, deep int) {
	if len(all) >= sharedPaths || deep > sharedDepth {
		return
	}
	if deep > 0 {
		all[[2]string{path, isThere}] = true
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(all, path+"."+name, v[name], deep+1)
		}
	case []any:
		if len(v) == 0 {
			all[[2]string{path, "[]"}] = true
		}
		for _, one := range v {
			walk(all, path+"[*]", one, deep+1)
		}
	case json.Number:
		all[[2]string{path, v.String()}] = true
		if f, err := v.Float64(); err == nil && f < 0 {
			all[[2]string{path, below}] = true
		}
	case string:
		all[[2]string{path, strconv.Quote(strings.ToValidUTF8(v, "�"))}] = true
	case bool:
		all[[2]string{path, strconv.FormatBool(v)}] = true
	case nil:
		all[[2]string{path, "null"}] = true
	}
}
