-- Nothing was done where no process took it; where one took it and has not answered, that is unknown. What it asked
-- for may hold content of a message, and is not kept.
UPDATE {{schema}}.headrace_requests
SET state = CASE state WHEN 'waiting' THEN 'expired' ELSE state END, args = 'null'
WHERE (state = 'waiting' OR state = 'taken' AND args <> 'null') AND until < {{now}} - $1::bigint * interval '1 microsecond'
