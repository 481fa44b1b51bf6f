package headrace

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"regexp"
	"strings"
)

// refusal is a verb that a handler may not use.
type refusal struct {
	verb string
	// session says that it changes the session. An Alone handler may do that; in a shared
	// transaction the next handler would see the change.
	session bool
	// lasting says that the change may outlast the transaction.
	lasting bool
	// cursor says that the query declares a cursor; it is no refusal by itself.
	cursor bool
}

// forbidden returns the first verb in query that a handler may not use, or the zero
// refusal. It also checks statements after a semicolon.
//
// It knows the words of both PostgreSQL and SQLite, and no grammar: it also rejects the
// END of a trigger's or a function's body. The commit finds the cases that it misses,
// since the transaction is then not that of the claim.
func forbidden(query string) refusal {
	found := lexer{nests: true}.forbidden(query)
	if found.verb == "" && strings.Contains(query, "/*") {
		found = lexer{nests: false}.forbidden(query)
	}
	return found
}

// lexer separates words from quoted text and comments.
type lexer struct {
	nests bool // block comments nest: in PostgreSQL, not in SQLite
}

// forbidden returns the first refusal in query; verbs that end the transaction take
// precedence over those that change the session.
func (l lexer) forbidden(query string) (found refusal) {
	lower := strings.ToLower(query)
	if strings.Contains(lower, "set_config") || strings.Contains(lower, "advisory_lock") {
		found = l.calls(query)
	}
	if strings.Contains(lower, "temp") && (l.contains(query, "INTO", "TEMP") || l.contains(query, "INTO", "TEMPORARY") || l.contains(query, "PG_TEMP", ".")) {
		found = refusal{verb: "CREATE TEMPORARY", session: true, lasting: true}
	}
	cursor := false
	for rest := query; ; {
		verb, second, tail := l.nextStatement(rest)
		switch verb {
		case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE":
			return refusal{verb: verb}
		case "PREPARE":
			if second == "TRANSACTION" {
				return refusal{verb: "PREPARE TRANSACTION"}
			}
			found = refusal{verb: verb, session: true, lasting: true}
		case "CREATE":
			if second == "TEMP" || second == "TEMPORARY" {
				found = refusal{verb: "CREATE TEMPORARY", session: true, lasting: true}
			}
		case "DECLARE":
			cursor = true
			if l.contains(rest, "WITH", "HOLD") {
				found = refusal{verb: "DECLARE WITH HOLD", session: true, lasting: true}
			}
		case "DO": // its body is quoted
			if inside := inBlock.FindString(strings.ToLower(rest)); inside != "" {
				found = refusal{verb: "DO with " + strings.TrimSpace(lastWord.FindString(inside)), session: true, lasting: true}
			}
		case "SET":
			ends := second == "LOCAL" || second == "TRANSACTION" || second == "CONSTRAINTS"
			found = refusal{verb: verb, session: true, lasting: found.lasting || !ends}
		case "RESET", "DISCARD", "DEALLOCATE", "LISTEN", "LOAD", "PRAGMA", "ATTACH", "DETACH":
			found = refusal{verb: verb, session: true, lasting: true}
		}
		if tail == "" {
			found.cursor = cursor
			return found
		}
		rest = tail
	}
}

// sessionFunctions are the functions that change the session: set_config does the same as
// SET, and the locks are held until the session ends.
var sessionFunctions = []string{"pg_advisory_lock", "pg_advisory_lock_shared", "pg_try_advisory_lock", "pg_try_advisory_lock_shared", "set_config"}

// local reports whether each set_config in query is local to the transaction, which its
// third argument says.
func local(query string) bool {
	lower := strings.ToLower(query)
	return strings.Count(lower, "set_config") == len(localConfig.FindAllString(lower, -1))
}

var localConfig = regexp.MustCompile(`set_config"?\s*\([^()]*,\s*true\s*\)`)

// inBlock finds what changes the session in a DO, whose language is not known: the
// functions, temporary tables, and verbs that begin a statement or are given to EXECUTE.
// lastWord is the word that it was.
var (
	inBlock = regexp.MustCompile(`\bset_config|\bpg_(?:try_)?advisory_lock(?:_shared)?\b|\b(?:create|into)\s+(?:local\s+|global\s+)?temp(?:orary)?\b` +
		`|(?:;|\$|\b(?:begin|then|else|loop)\s|\bexecute\s+(?:format\s*\(\s*)?')\s*(?:set|reset|discard|listen|load)\s`)
	lastWord = regexp.MustCompile(`\w+\s*$`)
)

// calls returns the refusal of the sessionFunctions that query calls, or the zero refusal.
func (l lexer) calls(query string) (found refusal) {
	for s := query; s != ""; {
		tail := l.skip(s)
		name := s[:len(s)-len(tail)]
		for _, f := range sessionFunctions {
			if (strings.EqualFold(name, f) || strings.Trim(name, `"`) == f) && strings.HasPrefix(l.blank(tail, space), "(") {
				found = refusal{verb: f, session: true, lasting: found.lasting || f != "set_config" || !local(query)}
			}
		}
		s = tail
	}
	return found
}

// contains reports whether the word next follows the word start in s, outside of quotes and
// comments. LOCAL and GLOBAL may stand between them. After INSERT or MERGE the answer is
// no, because next is the name of a table there.
func (l lexer) contains(s, start, next string) bool {
	for earlier, before := "", ""; s != ""; {
		if s = l.blank(s, space); s == "" {
			return false
		}
		tail := l.skip(s)
		switch word := strings.ToUpper(s[:len(s)-len(tail)]); {
		case before == start && word == next && earlier != "INSERT" && earlier != "MERGE":
			return true
		case before != start || word != "LOCAL" && word != "GLOBAL":
			earlier, before = before, word
		}
		s = tail
	}
	return false
}

// nextStatement returns the first two words of the first statement of s in upper case,
// and the text after its semicolon.
func (l lexer) nextStatement(s string) (verb, second, tail string) {
	verb, s = l.word(s)
	switch verb {
	case "PREPARE", "SET":
		second, s = l.word(s)
	case "CREATE":
		for second, s = l.word(s); second == "OR" || second == "REPLACE" || second == "LOCAL" || second == "GLOBAL"; {
			second, s = l.word(s)
		}
	}
	if !strings.Contains(s, ";") {
		return verb, second, ""
	}
	return verb, second, l.afterSemicolon(s)
}

// word skips white space, comments and empty statements, and returns the word
// that follows, in upper case.
func (l lexer) word(s string) (string, string) {
	s = l.blank(s, space+";("+byteOrderMark)
	tail := strings.TrimLeftFunc(s, isLetter)
	return strings.ToUpper(s[:len(s)-len(tail)]), tail
}

const (
	space = " \t\r\n\f\v"
	// byteOrderMark is white space to SQLite.
	byteOrderMark = "\ufeff"
)

// blank returns s without the comments and the characters of cutset that it starts with.
func (l lexer) blank(s, cutset string) string {
	for {
		s = strings.TrimLeft(s, cutset)
		if !strings.HasPrefix(s, "--") && !strings.HasPrefix(s, "/*") {
			return s
		}
		s = l.skip(s)
	}
}

// afterSemicolon returns the text after the first semicolon outside of quotes and
// comments, or "" if there is none.
func (l lexer) afterSemicolon(s string) string {
	for s != "" {
		if s[0] == ';' {
			return s[1:]
		}
		s = l.skip(s)
	}
	return ""
}

// skip returns the text after the name, comment, quoted text or character that s starts
// with.
func (l lexer) skip(s string) string {
	switch {
	case s[0] == '\'' || s[0] == '"':
		return after(s[1:], s[:1])
	case strings.HasPrefix(s, "--"):
		return afterLine(s)
	case strings.HasPrefix(s, "/*"):
		return l.afterComment(s)
	case s[0] == '$':
		return afterDollarQuote(s)
	case inName(rune(s[0])):
		return afterName(s)
	}
	return s[1:]
}

// after returns the text after the first sep in s, or "".
func after(s, sep string) string {
	_, tail, _ := strings.Cut(s, sep)
	return tail
}

// afterLine returns the text after the line that s starts with. In PostgreSQL a carriage
// return also ends a line.
func afterLine(s string) string {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return s[i+1:]
	}
	return ""
}

// afterComment returns the text after the block comment that s starts with.
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

// afterDollarQuote returns the text after the dollar-quoted string that s may start with;
// it only skips a lone dollar (a parameter).
func afterDollarQuote(s string) string {
	tail := strings.TrimLeftFunc(s[1:], func(c rune) bool { return c != '$' && inName(c) })
	if !strings.HasPrefix(tail, "$") || isDigit(rune(s[1])) {
		return s[1:]
	}
	return after(tail[1:], s[:len(s)-len(tail)+1])
}

// afterName returns the text after the name or number that s starts with. A dollar inside
// a name does not quote, and a name E makes the string after it one with backslashes.
func afterName(s string) string {
	tail := strings.TrimLeftFunc(s[1:], inName)
	if len(tail) == len(s)-1 && s[0]|0x20 == 'e' && strings.HasPrefix(tail, "'") {
		return afterEscaped(tail[1:])
	}
	return tail
}

// afterEscaped returns the text after the string with backslashes that s is inside of.
func afterEscaped(s string) string {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			if !strings.HasPrefix(s[i+1:], "'") {
				return s[i+1:]
			}
			i++ // two of them are one quote
		}
	}
	return ""
}

func isLetter(c rune) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c rune) bool  { return c >= '0' && c <= '9' }

// inName reports whether c may be in a name after its first byte.
func inName(c rune) bool { return isLetter(c) || isDigit(c) || c == '_' || c == '$' || c >= 0x80 }

// rowWith returns a row whose Scan returns err. database/sql has no constructor for one,
// so a pool that cannot connect makes it.
func rowWith(ctx context.Context, err error) *sql.Row {
	db := sql.OpenDB(failing{err})
	defer func() { _ = db.Close() }()
	return db.QueryRowContext(context.WithoutCancel(ctx), "")
}

// failing is a driver.Connector that never connects.
type failing struct{ err error }

func (f failing) Connect(context.Context) (driver.Conn, error) { return nil, f.err }
func (f failing) Driver() driver.Driver                        { return nil }
