-- A name with a slash is that of a consumer's line, or of 'local/'; subscriptions are of
-- consumers whose names have none.
SELECT count(*), COALESCE(min(w.name), '')
FROM (
    SELECT DISTINCT outbox AS name FROM {{schema}}.headrace_outbox
    UNION
    SELECT DISTINCT outbox FROM {{schema}}.headrace_outbox_held
    UNION
    SELECT 'local/' || consumer FROM {{schema}}.headrace_subscriptions
    UNION
    SELECT 'no topic of ' || consumer FROM {{schema}}.headrace_subscriptions WHERE topic = '' OR consumer = ''
) AS w
WHERE w.name = '' OR w.name LIKE '%/%' AND w.name NOT LIKE 'local/%' OR w.name LIKE 'local/%/%' OR w.name LIKE 'no topic of %'
