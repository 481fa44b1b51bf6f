-- A time that is over is that of the database. No row comes back where the same form was sent before.
INSERT INTO {{schema}}.headrace_requests (kind, consumer, build, host, args, by_whom, reason, until, once, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, {{now}} + $8, $9, {{now}})
ON CONFLICT (once) WHERE once <> '' DO NOTHING
RETURNING id
