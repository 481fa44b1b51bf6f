// Package db is what sqlc generates from schema.sql and queries.sql with sqlc.yaml. It was
// written by hand, in the same form: sqlc generate replaces it.
package db

import _ "embed"

// Schema makes the shop's tables.
//
//go:embed schema.sql
var Schema string
