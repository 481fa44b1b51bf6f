-- The lease is lengthened, if it is still the owner's. One that ran out and was
-- not taken still is: nothing has changed.
UPDATE {{schema}}.headrace_alert_readers
SET until = {{now}} + $3
WHERE consumer = $1 AND owner = $2
