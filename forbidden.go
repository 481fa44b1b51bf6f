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
func forbidden(query string, alone bool) string {
	for rest := query; ; {
		verb, second, tail := nextStatement(rest)
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
func nextStatement(s string) (verb, second, tail string) {
	verb, s = word(s)
	if verb == "PREPARE" {
		second, s = word(s)
	}
	if !strings.Contains(s, ";") {
		return verb, second, ""
	}
	return verb, second, afterSemicolon(s)
}

// word skips white space, comments and empty statements, and returns the word
// that follows, in upper case.
func word(s string) (string, string) {
	for {
		s = strings.TrimLeft(s, " \t\r\n\f\v;(")
		switch {
		case strings.HasPrefix(s, "--"):
			s = after(s, "\n")
		case strings.HasPrefix(s, "/*"):
			s = afterComment(s)
		default:
			n := 0
			for n < len(s) && (s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z') {
				n++
			}
			return strings.ToUpper(s[:n]), s[n:]
		}
	}
}

// afterSemicolon returns what follows the first semicolon that stands outside of
// quotes and comments, or "" where there is none.
func afterSemicolon(s string) string {
	for i := 0; i < len(s); {
		rest := s[i:]
		switch {
		case rest[0] == ';':
			return rest[1:]
		case rest[0] == '\'' || rest[0] == '"':
			i = len(s) - len(after(rest[1:], rest[:1]))
		case strings.HasPrefix(rest, "--"):
			i = len(s) - len(after(rest, "\n"))
		case strings.HasPrefix(rest, "/*"):
			i = len(s) - len(afterComment(rest))
		case rest[0] == '$':
			i = len(s) - len(afterDollarQuote(rest))
		default:
			i++
		}
	}
	return ""
}

// after returns what follows the first sep in s, or "".
func after(s, sep string) string {
	_, tail, _ := strings.Cut(s, sep)
	return tail
}

// afterComment returns what follows the block comment that s starts with.
// PostgreSQL nests them.
func afterComment(s string) string {
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
	end := strings.IndexByte(s[1:], '$')
	if end < 0 {
		return s[1:]
	}
	tag := s[:end+2]
	for _, c := range tag[1 : len(tag)-1] {
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return s[1:]
		}
	}
	if len(tag) > 2 && tag[1] >= '0' && tag[1] <= '9' {
		return s[1:]
	}
	return after(s[len(tag):], tag)
}

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
