-- A group sends no alerts: for $5 (µs) and $6 more letters, 0 for no such end. Those not added up yet came before.
UPDATE {{schema}}.headrace_groups
SET muted_by = $4, muted_until = {{now}} + NULLIF($5, 0), muted_count = NULLIF($6, 0) + total + (
    SELECT COALESCE(sum(c.opened), 0) FROM {{schema}}.headrace_letter_changes AS c
    WHERE c.consumer = $1 AND c.handler = $2 AND c.error_fingerprint = $3
), muted_anyway = $7
WHERE consumer = $1 AND handler = $2 AND error_fingerprint = $3
