-- Whether a round of this consumer is due. Reads only, since every process asks often.
SELECT NOT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_prunes AS p WHERE p.consumer = $1 AND p.due_at > {{now}}
)
