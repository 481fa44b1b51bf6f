-- After the drain nothing waits in the backlog.
SELECT key || ' ' || line FROM backlog
