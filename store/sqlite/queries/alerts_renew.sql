-- The lease is lengthened, if it is still the owner's. One that ran out and that
-- nobody took is: nothing has changed.
UPDATE {{schema}}.headrace_alert_readers
SET until = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + $3
WHERE consumer = $1 AND owner = $2
