// Package db is what sqlc makes of schema.sql and queries.sql: sqlc generate.
package db

import _ "embed"

// Schema makes the shop's table.
//
//go:embed schema.sql
var Schema string
