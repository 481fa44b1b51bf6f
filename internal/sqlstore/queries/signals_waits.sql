-- Whether the message still waits for the signal.
SELECT count(*) FROM {{schema}}.headrace_steps AS s WHERE s.scope = $1 AND s.key = $2 AND s.step = $3 AND s.state = 'awaiting'
