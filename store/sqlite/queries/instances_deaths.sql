-- Who died while it ran the message, and who may still run it. A recorded attempt, or a
-- move of the inbox row (a redrive), clears what was before.
WITH cleared AS (
    SELECT max(
        COALESCE((SELECT max(a.at) FROM {{schema}}.headrace_attempts AS a WHERE a.scope = $3 AND a.key = $4), 0),
        COALESCE((SELECT m.changed_at FROM {{schema}}.headrace_inbox AS m WHERE m.scope = $3 AND m.key = $4), 0)
    ) AS at
)
SELECT count(*) FILTER (WHERE i.beat_at < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - $5 AND i.running_at > cleared.at),
    count(*) FILTER (WHERE i.beat_at >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - $5)
FROM {{schema}}.headrace_instances AS i CROSS JOIN cleared
WHERE i.consumer = $2 AND i.id <> $1 AND i.ended_at IS NULL AND i.running_scope = $3 AND i.running_key = $4
