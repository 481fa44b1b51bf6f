-- Ready rows of these topics in the outbox $2 whose topic had had a subscription for $3 when they
-- were written: they were copied for it then.
DELETE FROM {{schema}}.headrace_outbox AS o
WHERE o.outbox = $2::text AND (cardinality($1::text[]) = 0 OR o.topic = ANY ($1::text[])) AND EXISTS (
    SELECT FROM {{schema}}.headrace_subscriptions AS s
    WHERE s.topic = o.topic AND s.created_at < o.created_at - $3::bigint * interval '1 microsecond'
)
