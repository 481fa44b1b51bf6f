-- What a worker of an instance is about to run. No row where the instance is not known or
-- has ended. One that was counted as dead runs after all.
WITH runs AS MATERIALIZED (
    SELECT i.id, i.counted_at FROM {{schema}}.headrace_instances AS i WHERE i.id = $1 AND i.ended_at IS NULL
), revived AS (
    UPDATE {{schema}}.headrace_instances AS i SET beat_at = {{now}}, counted_at = NULL
    FROM runs
    WHERE i.id = runs.id AND runs.counted_at IS NOT NULL
)
INSERT INTO {{schema}}.headrace_marks (instance, worker, messages, alone)
SELECT runs.id, $2, $3, $4 FROM runs
ON CONFLICT (instance, worker) DO UPDATE SET messages = excluded.messages, alone = excluded.alone, at = excluded.at
