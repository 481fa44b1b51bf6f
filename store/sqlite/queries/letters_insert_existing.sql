-- The open letter that was there already.
SELECT id FROM {{schema}}.headrace_dead_letters
WHERE state = 'open' AND scope = $1 AND key = $2 AND fingerprint = $3
