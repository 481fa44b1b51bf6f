-- The lease is lengthened, if it is still the owner's. One that ran out and that
-- nobody took is: nothing has changed.
UPDATE {{schema}}.headrace_alert_readers
SET until = clock_timestamp() + $3::bigint * interval '1 microsecond'
WHERE consumer = $1 AND owner = $2
