-- The oldest changes go, to be added up.
DELETE FROM {{schema}}.headrace_letter_changes
WHERE id IN (SELECT o.id FROM {{schema}}.headrace_letter_changes AS o ORDER BY o.id LIMIT $1)
RETURNING consumer, handler, error_fingerprint, class, build, opened, closed, expired, discarded, COALESCE(oldest, 0), COALESCE(newest, 0), at
