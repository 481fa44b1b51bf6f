-- After the drain nothing waits in the backlog.
SELECT key || ' ' || status FROM backlog
