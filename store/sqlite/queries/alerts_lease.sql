-- The namespace is the owner's for $3 microseconds, unless another holds it.
INSERT INTO {{schema}}.headrace_alert_readers AS r (consumer, owner, until)
VALUES ($1, $2, {{now}} + $3)
ON CONFLICT (consumer) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE r.owner = excluded.owner OR r.until <= {{now}}
