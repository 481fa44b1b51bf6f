-- Whether a process of the consumer $2 has had, within $3, a handler for one of the topics $1,
-- or for any where there are none. No process can say so anew until the transaction ends.
SELECT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_subscriptions
    WHERE consumer = $2 AND (json_array_length($1) = 0 OR topic IN (SELECT value FROM json_each($1)))
        AND seen_at > {{now}} - $3
)
