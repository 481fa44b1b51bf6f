package sqlfile

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Set is the statements of a store. It records which of them are used, so that a test can
// find unused files.
type Set struct {
	statements map[string]string
	texts      map[string]bool
	asked      map[string]bool
}

// NewSet returns the set of statements that Load has read.
func NewSet(statements map[string]string) Set {
	s := Set{statements, make(map[string]bool, len(statements)), make(map[string]bool, len(statements))}
	for _, text := range statements {
		s.texts[text] = true
	}
	return s
}

// Has reports whether text is one of the statements.
func (s Set) Has(text string) bool { return s.texts[text] }

// Get returns the statement of that name. Like the function Get, it panics if there is
// none.
func (s Set) Get(name string) string {
	s.asked[name] = true
	return Get(s.statements, name)
}

// optional is the tag of a field whose statement one of the databases may lack.
const optional = "optional"

// Fill sets the fields of the struct that into points to, all of them strings: field
// LockShard gets the statement prefix_lock_shard. A field with the tag sql:"optional"
// stays empty if there is no such statement, and one with sql:"NAME" gets the statement of
// that name. Fill panics like Get.
func (s Set) Fill(prefix string, into any) {
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, tag := prefix+snake(field.Name), field.Tag.Get("sql")
		if tag != "" && tag != optional {
			name = tag
		}
		if _, ok := s.statements[name]; ok || tag != optional {
			v.Field(i).SetString(s.Get(name))
		}
	}
}

// snake writes LockShard as _lock_shard.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Unused returns the names of the statements that Get never returned, sorted.
func (s Set) Unused() (names []string) {
	for name := range s.statements {
		if !s.asked[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// All returns name → statement.
func (s Set) All() map[string]string { return s.statements }
