-- No event is downstream that was not committed.
SELECT d.event_id FROM downstream d WHERE d.topic = 'out' AND NOT EXISTS (SELECT 1 FROM emitted m WHERE m.event_id = d.event_id)
