-- Whether an instance of the consumer $1 runs: it has not ended, and was heard of within $2.
SELECT EXISTS (
    SELECT FROM {{schema}}.headrace_instances AS i
    WHERE i.consumer = $1 AND i.ended_at IS NULL AND i.beat_at > (SELECT {{now}} - $2::bigint * interval '1 microsecond')
)
