-- No event of a consumer's line is parked: a dead letter has it. Those of 'local/' are
-- ready or delayed.
SELECT count(*), COALESCE(min(h.id), '')
FROM {{schema}}.headrace_outbox_held AS h
WHERE h.outbox LIKE 'local/%' AND h.reason = 'parked' OR h.outbox = 'local/' AND h.reason <> 'delayed'
