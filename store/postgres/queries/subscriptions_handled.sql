-- Whether a process of the consumer $2 has had, within $3, a handler for one of the topics $1,
-- or for any where there are none. No process can say so anew until the transaction ends.
SELECT COALESCE(bool_or(s.handled), false) FROM (
    SELECT seen_at > {{now}} - $3::bigint * interval '1 microsecond' AS handled
    FROM {{schema}}.headrace_subscriptions
    WHERE consumer = $2 AND (cardinality($1::text[]) = 0 OR topic = ANY ($1::text[]))
    ORDER BY topic
    FOR UPDATE
) AS s
