// Package compose checks docker-compose.yml by loading it as docker compose does:
// which servers it has, that each can be waited for, and that each port is this
// machine's and can be moved.
//
// It starts no server: whether the images do what their options say shows only where
// there is an engine.
package compose
