-- Counters of groups and the changes that are not added up are the open letters.
SELECT count(*), COALESCE(min(d.consumer || '/' || d.handler || ' ' || d.error_fingerprint || ': counters say ' || d.counted || ' open, letters ' || d.letters), '')
FROM (
    SELECT c.consumer, c.handler, c.error_fingerprint, sum(c.counted) AS counted, sum(c.letters) AS letters
    FROM (
        SELECT g.consumer, g.handler, g.error_fingerprint, g.open AS counted, 0 AS letters FROM {{schema}}.headrace_groups AS g
        UNION ALL
        SELECT p.consumer, p.handler, p.error_fingerprint, p.opened - p.closed, 0 FROM {{schema}}.headrace_letter_changes AS p
        UNION ALL
        SELECT l.consumer, l.handler, l.error_fingerprint, 0, 1 FROM {{schema}}.headrace_dead_letters AS l
        WHERE l.state = 'open' AND l.class <> 'cancelled'
    ) AS c
    GROUP BY c.consumer, c.handler, c.error_fingerprint
    HAVING sum(c.counted) <> sum(c.letters)
) AS d
