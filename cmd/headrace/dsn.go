package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
)

// database says where the tables are.
type database struct {
	// postgres is a DSN for the driver, or sqlite the path of a file, which is opened for reading alone
	// if readOnly.
	postgres string
	sqlite   string
	readOnly bool
	// shown is the DSN without its passwords; secrets are the passwords, as written and
	// decoded.
	shown   string
	secrets []string
}

// forms are the forms of a DSN.
const forms = `postgres://user@host:5432/database, "host=… port=5432 user=… dbname=…", or sqlite:FILE`

// notShown ends the errors about a DSN, and says why they do not repeat it.
const notShown = " (it is not shown: it may hold a password)"

// sqliteQuery is what another program would read as parameters, at the end of a path.
var sqliteQuery = regexp.MustCompile(`\?\w+=[^/]*$`)

// maxDSN bounds a DSN, in bytes.
const maxDSN = 64 << 10

// locate finds the DSN: a flag takes precedence over the environment.
func (m *Main) locate() (database, error) {
	dsn, err := m.rawDSN()
	if err != nil {
		return database{}, err
	}
	db, err := parseDSN(dsn)
	if err != nil {
		return database{}, err
	}
	m.scrub.add(db.secrets...)
	if db.sqlite != "" && m.flags.schema != "" {
		return database{}, usagef("--schema is for PostgreSQL; a SQLite file has none")
	}
	if len(m.flags.schema) > 63 || strings.ContainsRune(m.flags.schema, 0) {
		return database{}, wrong("schema", m.flags.schema, "it must be a PostgreSQL name, of at most 63 bytes")
	}
	return db, nil
}

// dsnFrom says where the DSN comes from.
func (m *Main) dsnFrom() string {
	for _, name := range []string{"dsn", "dsn-file"} {
		if m.flags.set.Changed(name) {
			return "--" + name
		}
	}
	return "HEADRACE_DSN"
}

func (m *Main) rawDSN() (string, error) {
	env := strings.TrimSpace(m.Getenv("HEADRACE_DSN"))
	switch {
	case m.flags.set.Changed("dsn"):
		m.warn("--dsn shows in the list of processes; HEADRACE_DSN or --dsn-file do not")
	case !m.flags.set.Changed("dsn-file") && env == "":
		return "", usagef("which database? set HEADRACE_DSN or give --dsn-file, with " + forms)
	case !m.flags.set.Changed("dsn-file"):
		return env, nil
	}
	if env != "" {
		m.warn("HEADRACE_DSN is set too, and not used")
	}
	if m.flags.set.Changed("dsn") {
		return m.flags.dsn, nil
	}
	return m.readDSN(m.flags.dsnFile)
}

// warn says it once: some commands open the database twice.
func (m *Main) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if m.warned[text] {
		return
	}
	if m.warned == nil {
		m.warned = make(map[string]bool)
	}
	m.warned[text] = true
	m.say("warning: %s", text)
}

// readDSN reads a file that contains only a DSN.
func (m *Main) readDSN(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", wrong("dsn-file", path, "it must be a file that holds a DSN: %v", cause(err))
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0 {
		m.warn("all users can read %s; chmod 600 would help", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxDSN+1))
	if err != nil {
		return "", fmt.Errorf("read --dsn-file: %w", err)
	}
	dsn := strings.TrimSpace(string(text))
	switch {
	case dsn == "":
		return "", usagef("--dsn-file %s is empty", path)
	case len(text) > maxDSN || strings.ContainsAny(dsn, "\r\n"):
		return "", usagef("--dsn-file %s holds more than one line", path)
	}
	return dsn, nil
}

// parseDSN parses a DSN. Its errors never repeat it: it may contain a password.
func parseDSN(dsn string) (database, error) {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		db := database{shown: dsn}
		if db.sqlite, db.readOnly = strings.CutSuffix(path, forReading); db.sqlite == "" {
			return database{}, usagef("the DSN names no file: sqlite:FILE")
		}
		if query := sqliteQuery.FindString(db.sqlite); query != "" {
			return database{}, usagef("the DSN of a file may end with %s, and not with %s", forReading, query)
		}
		return db, nil
	}
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return parsePairs(dsn)
	}
	u, err := url.Parse(dsn)
	if err != nil {
		// The error of url.Parse repeats the invalid part.
		return database{}, usagef("the DSN is no valid URL (special characters in user and password are written %%XX): give %s%s", forms, notShown)
	}
	return database{postgres: u.String(), shown: withoutPassword(u), secrets: secrets(dsn, u)}, nil
}

// passwords are the parameters of a URL that contain a password.
var passwords = []string{"password", "sslpassword", "passfile"}

// withoutPassword returns u without its passwords.
func withoutPassword(u *url.URL) string {
	shown := *u
	query := shown.Query()
	for _, name := range passwords {
		if query.Has(name) {
			query.Set(name, "xxxxx")
		}
	}
	shown.RawQuery = query.Encode()
	return shown.Redacted()
}

// secrets returns the passwords of u, as written in dsn and decoded.
func secrets(dsn string, u *url.URL) []string {
	var list []string
	if password, ok := u.User.Password(); ok {
		_, authority, _ := strings.Cut(dsn, "://")
		authority, _, _ = strings.Cut(authority, "/")
		userinfo := authority[:max(strings.LastIndexByte(authority, '@'), 0)]
		_, written, _ := strings.Cut(userinfo, ":")
		list = append(list, password, written)
	}
	for _, name := range passwords {
		list = append(list, u.Query()[name]...)
	}
	return list
}

// scrubber removes secrets from texts of others. It is a second line of defence: errors
// of drivers contain no passwords today.
type scrubber struct{ secrets []string }

// minSecret is the shortest secret that is removed. Shorter ones would occur in many
// words, and protect nothing.
const minSecret = 4

func (s *scrubber) add(secrets ...string) {
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			s.secrets = append(s.secrets, secret)
		}
	}
}

func (s *scrubber) clean(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, "xxxxx")
	}
	return text
}
