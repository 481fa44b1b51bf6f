-- Groups of which a message that was redriven waits or runs.
SELECT i.consumer, i.handler, i.error_fingerprint
FROM unnest($1::text[], $2::text[], $3::text[]) AS i (consumer, handler, error_fingerprint)
WHERE EXISTS (
    SELECT FROM {{schema}}.headrace_backlog AS b
    JOIN {{schema}}.headrace_dead_letters AS l ON l.id = b.letter_id
    WHERE b.letter_id > 0 AND l.consumer = i.consumer AND l.handler = i.handler AND l.error_fingerprint = i.error_fingerprint
)
