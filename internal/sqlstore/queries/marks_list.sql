-- What the other instances of a consumer may be running.
SELECT m.instance, m.worker, m.messages, m.alone
FROM {{schema}}.headrace_instances AS i
JOIN {{schema}}.headrace_marks AS m ON m.instance = i.id
WHERE i.consumer = $1 AND i.id <> $2 AND i.ended_at IS NULL AND i.counted_at IS NULL
ORDER BY m.instance, m.worker
