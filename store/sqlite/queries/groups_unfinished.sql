-- Groups of which a message that was redriven waits or runs.
SELECT i.value ->> 0, i.value ->> 1, i.value ->> 2
FROM json_each($1) AS i
WHERE EXISTS (
    SELECT 1 FROM {{schema}}.headrace_backlog AS b
    JOIN {{schema}}.headrace_dead_letters AS l ON l.id = b.letter_id
    WHERE b.letter_id > 0 AND l.consumer = i.value ->> 0 AND l.handler = i.value ->> 1 AND l.error_fingerprint = i.value ->> 2
)
