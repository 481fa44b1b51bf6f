-- It ends in order.
UPDATE {{schema}}.headrace_instances SET ended_at = {{now}} WHERE id = $1
