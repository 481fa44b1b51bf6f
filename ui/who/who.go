package who

import "errors"

// ErrUnknown says that a request does not tell who sends it.
var ErrUnknown = errors.New("nobody is signed in")

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
func (r Role) May(needs Role) bool { return r >= needs && r >= Viewer }

// Person is who sends a request.
type Person struct {
	// Name is written into requests and the audit.
	Name string
	// Role says what that person may do; 0 is nothing.
	Role Role
}
