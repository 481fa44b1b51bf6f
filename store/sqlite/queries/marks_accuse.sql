-- The messages in the marks of a dead instance become suspects.
WITH RECURSIVE ran (message, rest, alone) AS (
    SELECT substr(m.messages, 1, 16), substr(m.messages, 17), m.alone FROM {{schema}}.headrace_marks AS m WHERE m.instance = $1
    UNION ALL
    SELECT substr(ran.rest, 1, 16), substr(ran.rest, 17), ran.alone FROM ran WHERE octet_length(ran.rest) > 0
)
INSERT INTO {{schema}}.headrace_suspects AS s (consumer, message, alone, beside, at)
SELECT i.consumer, ran.message, max(ran.alone), 1 - max(ran.alone), {{now}}
FROM {{schema}}.headrace_instances AS i CROSS JOIN ran
WHERE i.id = $1
GROUP BY i.consumer, ran.message
ON CONFLICT (consumer, message) DO UPDATE SET alone = s.alone + excluded.alone, beside = s.beside + excluded.beside, at = excluded.at
