// Package before is a service as it was: a Watermill Router with one handler, once with
// sqlc and once with gorm.
package before
