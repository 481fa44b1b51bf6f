-- Events of one key come first in the order in which they were committed.
WITH first AS (SELECT m.cause, min(d.n) AS n FROM emitted m JOIN downstream d ON d.event_id = m.event_id GROUP BY m.event_id),
span AS (SELECT cause, min(n) AS low, max(n) AS high FROM first GROUP BY cause)
SELECT a.msg_id || ' before ' || b.msg_id FROM items a JOIN items b ON b.key = a.key AND b.pos = a.pos + 1
JOIN span x ON x.cause = a.msg_id JOIN span y ON y.cause = b.msg_id WHERE x.high > y.low
