-- What a worker of an instance is about to run. No row where the instance is not known or
-- has ended.
INSERT INTO {{schema}}.headrace_marks (instance, worker, messages, alone, at)
SELECT i.id, $2, $3, $4, {{now}} FROM {{schema}}.headrace_instances AS i WHERE i.id = $1 AND i.ended_at IS NULL
ON CONFLICT (instance, worker) DO UPDATE SET messages = excluded.messages, alone = excluded.alone, at = excluded.at
