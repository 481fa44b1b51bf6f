-- Acknowledged: their effects are committed, even if another worker holds them now. Each row is looked up by its whole
-- key and removed at its place: "id = ANY" the planner may take for a filter over the queue, of which it knows
-- too little. A row that another worker takes at this moment may stay; that worker acknowledges it. The commit
-- waits for no disk: what a crash of the server forgets of it comes again, as a duplicate.
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting)
DELETE FROM {{schema}}.headrace_queue USING relaxed
WHERE ctid = ANY (ARRAY (
    SELECT (SELECT ctid FROM {{schema}}.headrace_queue WHERE topic = $1 AND consumer_group = $2 AND id = given.id)
    FROM unnest($3::bigint[]) AS given (id)
)) AND relaxed.setting = 'off'
