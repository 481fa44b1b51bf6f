-- A time that is over is that of the database.
INSERT INTO {{schema}}.headrace_requests (kind, consumer, build, host, args, by_whom, reason, until, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, {{now}} + $8, {{now}})
RETURNING id
