-- A duplicate downstream says the same.
SELECT d.event_id FROM downstream d JOIN emitted m ON m.event_id = d.event_id WHERE d.sum <> m.sum
