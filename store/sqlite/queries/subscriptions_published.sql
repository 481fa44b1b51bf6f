-- Whether a process publishes the outbox $1, or waits for its turn: it was heard of within $2.
SELECT EXISTS (SELECT 1 FROM {{schema}}.headrace_relays AS r WHERE r.outbox = $1 AND r.beat_at > {{now}} - $2)
