-- A relay beats, and serves its outbox or waits.
INSERT INTO {{schema}}.headrace_relays (id, outbox, sink, serves, host, beat_at) VALUES ($1, $2, $3, $4, $5, {{now}})
ON CONFLICT (id) DO UPDATE SET serves = excluded.serves, beat_at = excluded.beat_at
