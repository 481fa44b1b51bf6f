-- No signal came in time. The caller has the lock of the lease, for which a Send waits.
UPDATE {{schema}}.headrace_steps AS s SET state = 'expired', error = 'no signal came in time', changed_at = {{now}}
WHERE s.scope = $1 AND s.key = $2 AND s.step = $3 AND s.state = 'awaiting'
