package headrace

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
)

// forbidden returns the first verb in query that a handler may not use, or "".
// Statements that follow a semicolon are looked at too. In a handler that shares
// its transaction, statements that change the session are refused as well, since
// the next handler of the group would see the change.
//
// It reads the words of PostgreSQL and SQLite alike, and knows no grammar: the END of
// a trigger's or a function's body is refused too. What it misses shows at the
// commit, which finds another transaction than that of the claim.
func forbidden(query string, alone bool) string {
	verb := lexer{nests: true}.forbidden(query, alone)
	if verb == "" && strings.Contains(query, "/*") {
		verb = lexer{nests: false}.forbidden(query, alone)
	}
	return verb
}

// lexer tells words from what is quoted or commented out.
type lexer struct {
	nests bool // block comments nest: in PostgreSQL, not in SQLite
}

func (l lexer) forbidden(query string, alone bool) string {
	for rest := query; ; {
		verb, second, tail := l.nextStatement(rest)
		switch verb {
		case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE":
			return verb
		case "PREPARE":
			if second == "TRANSACTION" {
				return "PREPARE TRANSACTION"
			}
		case "SET", "RESET", "DISCARD", "LISTEN", "PRAGMA", "ATTACH", "DETACH":
			if !alone {
				return verb + " (in a handler without consumer.Alone)"
			}
		}
		if tail == "" {
			return ""
		}
		rest = tail
	}
}

// nextStatement returns the first two words of the first statement of s in upper
// case, and what follows its semicolon.
func (l lexer) nextStatement(s string) (verb, second, tail string) {
	verb, s = l.word(s)
	if verb == "PREPARE" {
		second, s = l.word(s)
	}
	if !strings.Contains(s, ";") {
		return verb, second, ""
	}
	return verb, second, l.afterSemicolon(s)
}

// word skips white space, comments and empty statements, and returns the word
// that follows, in upper case.
func (l lexer) word(s string) (string, string) {
	for {
		s = strings.TrimLeft(s, " \t\r\n\f\v;(")
		switch {
		case strings.HasPrefix(s, byteOrderMark):
			s = s[len(byteOrderMark):]
		case strings.HasPrefix(s, "--"):
			s = afterLine(s)
		case strings.HasPrefix(s, "/*"):
			s = l.afterComment(s)
		default:
			n := 0
			for n < len(s) && isLetter(s[n]) {
				n++
			}
			return strings.ToUpper(s[:n]), s[n:]
		}
	}
}

// afterSemicolon returns what follows the first semicolon that stands outside of
// quotes and comments, or "" where there is none.
func (l lexer) afterSemicolon(s string) string {
	for s != "" {
		switch {
		case s[0] == ';':
			return s[1:]
		case s[0] == '\'' || s[0] == '"':
			s = after(s[1:], s[:1])
		case strings.HasPrefix(s, "--"):
			s = afterLine(s)
		case strings.HasPrefix(s, "/*"):
			s = l.afterComment(s)
		case s[0] == '$':
			s = afterDollarQuote(s)
		case inName(s[0]):
			s = afterName(s)
		default:
			s = s[1:]
		}
	}
	return ""
}

// after returns what follows the first sep in s, or "".
func after(s, sep string) string {
	_, tail, _ := strings.Cut(s, sep)
	return tail
}

// afterLine returns what follows the line that s starts with. For PostgreSQL a
// carriage return ends it too.
func afterLine(s string) string {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return s[i+1:]
	}
	return ""
}

// afterComment returns what follows the block comment that s starts with.
func (l lexer) afterComment(s string) string {
	if !l.nests {
		return after(s[2:], "*/")
	}
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return s[i+1:]
			}
		}
	}
	return ""
}

// afterDollarQuote returns what follows the dollar-quoted string that s may start
// with; a lone dollar (a parameter) is passed over.
func afterDollarQuote(s string) string {
	n := 1
	for n < len(s) && s[n] != '$' && inName(s[n]) {
		n++
	}
	if n == len(s) || s[n] != '$' || isDigit(s[1]) {
		return s[1:]
	}
	return after(s[n+1:], s[:n+1])
}

// afterName returns what follows the name or number that s starts with. A dollar
// inside a name quotes nothing, and an E makes the string after it one with
// backslashes.
func afterName(s string) string {
	n := 1
	for n < len(s) && inName(s[n]) {
		n++
	}
	if n == 1 && s[0]|0x20 == 'e' && strings.HasPrefix(s[1:], "'") {
		return afterEscaped(s[2:])
	}
	return s[n:]
}

// afterEscaped returns what follows the string with backslashes that s stands in.
func afterEscaped(s string) string {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			if !strings.HasPrefix(s[i+1:], "'") {
				return s[i+1:]
			}
			i++ // two of them stand for one
		}
	}
	return ""
}

// byteOrderMark is white space to SQLite.
const byteOrderMark = "\ufeff"

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// inName reports whether c may stand in a name after its first byte.
func inName(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '$' || c >= 0x80 }

// rowWith returns a row whose Scan gives err. database/sql has no constructor for
// one; a pool that cannot connect makes it.
func rowWith(ctx context.Context, err error) *sql.Row {
	db := sql.OpenDB(failing{err})
	defer func() { _ = db.Close() }()
	return db.QueryRowContext(context.WithoutCancel(ctx), "")
}

// failing is a driver.Connector that never connects.
type failing struct{ err error }

func (f failing) Connect(context.Context) (driver.Conn, error) { return nil, f.err }
func (f failing) Driver() driver.Driver                        { return nil }
