-- Groups whose newest letter is old, and closed.
DELETE FROM {{schema}}.headrace_groups AS g
WHERE g.open = 0 AND g.last_at < (SELECT {{now}}) - 180 * 86400000000 AND NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_letter_changes AS c
    WHERE c.consumer = g.consumer AND c.handler = g.handler AND c.error_fingerprint = g.error_fingerprint
)
