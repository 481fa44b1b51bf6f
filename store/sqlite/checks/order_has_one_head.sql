-- At most one message of a strict order key can be worked off.
SELECT count(*), COALESCE(min(h.scope || ' ' || h.order_key), '')
FROM (
    SELECT scope, order_key FROM {{schema}}.headrace_backlog
    WHERE strict AND order_key <> '' AND line <> 'blocked'
    GROUP BY scope, order_key
    HAVING count(*) > 1
) AS h
