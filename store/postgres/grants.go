package postgres

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/lib/pq"
)

//go:embed grants.sql
var grants string

// roleName is a prefix of roles that needs no quotes.
var roleName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,40}$`)

// Grants returns the SQL that makes the roles PREFIX_publisher, PREFIX_consumer,
// PREFIX_operator, PREFIX_admin and PREFIX_viewer, and gives them their rights on the tables of
// the store's schema. It runs nothing.
func (s *Store) Grants(prefix string) (string, error) {
	if !roleName.MatchString(prefix) {
		return "", fmt.Errorf("the prefix %q of roles is not 1 to 41 of a-z, 0-9 and _, without a digit first", prefix)
	}
	return strings.NewReplacer("{{schema}}", pq.QuoteIdentifier(s.book.schema), "{{role}}", prefix).Replace(grants), nil
}
