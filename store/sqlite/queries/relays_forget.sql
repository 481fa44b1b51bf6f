-- Relays that have not beaten for long.
DELETE FROM {{schema}}.headrace_relays WHERE beat_at < (SELECT {{now}} - $1)
