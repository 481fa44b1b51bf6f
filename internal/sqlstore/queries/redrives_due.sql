-- The running jobs of a consumer.
SELECT r.id FROM {{schema}}.headrace_redrives AS r WHERE r.consumer = $1 AND r.state = 'running' ORDER BY r.id
