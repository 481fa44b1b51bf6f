-- The running and the paused jobs of a consumer.
SELECT r.id, r.state = 'paused' FROM {{schema}}.headrace_redrives AS r WHERE r.consumer = $1 AND r.state IN ('running', 'paused') ORDER BY r.id
