package who

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxName = 200 // bytes

// ErrUnknown says that a request does not tell who sends it.
var ErrUnknown = errors.New("you are not signed in")

// Role is what a person may do in the pages. A greater role may do all that a smaller one may.
// The zero value may do nothing.
type Role int

// The roles.
const (
	// Viewer reads groups, letters and steps without their values, redrives and the audit.
	Viewer Role = iota + 1
	// Operator also acts: rehearse, redrive, discard, mute, pause, reveal, and the like.
	Operator
	// Admin also edits a letter, gives it a new key, and cancels a message that waits.
	Admin
)

// String is the word for a role, as options and pages write it.
func (r Role) String() string {
	switch r {
	case Viewer:
		return "viewer"
	case Operator:
		return "operator"
	case Admin:
		return "admin"
	}
	return "none"
}

// Parse is the role that a word names, and whether it names one.
func Parse(word string) (Role, bool) {
	for _, role := range []Role{Viewer, Operator, Admin} {
		if role.String() == word {
			return role, true
		}
	}
	return 0, false
}

// May says whether the role allows what needs the given one.
func (r Role) May(needs Role) bool { return r >= needs && r >= Viewer && r <= Admin }

// Person is who sends a request.
type Person struct {
	// Name is written into requests and the audit: 1 to 200 bytes of visible UTF-8. Others are refused.
	Name string
	// Role says what that person may do; 0 is nothing.
	Role Role
}

// Ask asks identify who sends a request. A person whose name may not be written into the audit, or whose role is none
// of ours, is an error.
func Ask(identify func(*http.Request) (Person, error), r *http.Request) (Person, error) {
	p, err := identify(r)
	switch {
	case err != nil:
		return Person{}, err
	case !Fit(p.Name):
		return Person{}, fmt.Errorf("function Identify returned the name %.60q: it must have 1 to %d bytes, all of them visible UTF-8, and no space at an end", p.Name, maxName)
	case p.Role < 0 || p.Role > Admin:
		return Person{}, fmt.Errorf("function Identify returned the role %d of %q: there is no such role", p.Role, p.Name)
	}
	return p, nil
}

// Fit reports whether the name of a person may be written into the audit.
func Fit(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && name == strings.TrimSpace(name) &&
		!slices.ContainsFunc([]rune(name), func(r rune) bool { return !unicode.IsGraphic(r) })
}
