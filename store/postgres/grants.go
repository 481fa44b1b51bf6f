package postgres

import (
	"context"
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
	return strings.NewReplacer("{{schema}}", pq.QuoteIdentifier(s.history.schema), "{{role}}", prefix).Replace(grants), nil
}

// Login is the name of the store's login.
func (s *Store) Login(ctx context.Context) (login string, err error) {
	if err := s.db.QueryRowContext(ctx, s.login).Scan(&login); err != nil {
		return "", fmt.Errorf("read the name of the login: %w", err)
	}
	return login, nil
}

// May reports whether the store's login has the rights of the role "operator", "admin" or "consumer" of Grants: so
// a dry run can be refused as what it tries.
func (s *Store) May(ctx context.Context, role string) (may bool, err error) {
	if err := s.db.QueryRowContext(ctx, s.may, s.history.schema, role).Scan(&may); err != nil {
		return false, fmt.Errorf("look up the rights of a login: %w", err)
	}
	return may, nil
}
