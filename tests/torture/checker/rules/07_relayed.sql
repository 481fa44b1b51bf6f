-- Every committed event is downstream after the drain.
SELECT m.event_id FROM emitted m WHERE NOT EXISTS (SELECT 1 FROM downstream d WHERE d.event_id = m.event_id)
