-- The first verdict on a message; nothing where somebody else was first.
INSERT INTO {{schema}}.headrace_inbox (scope, key, state, fingerprint, stale)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (scope, key) DO NOTHING
