-- A row that left the outbox is downstream.
SELECT m.event_id FROM emitted m WHERE NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = m.event_id)
AND NOT EXISTS (SELECT 1 FROM downstream d WHERE d.event_id = m.event_id)
