-- Nothing is known of a message that was not sent.
SELECT known.id FROM (SELECT msg_id AS id FROM effects UNION SELECT key FROM letters UNION SELECT key FROM inbox) known
WHERE NOT EXISTS (SELECT 1 FROM sent s WHERE s.id = known.id AND s.outcome IN ('ok', 'info'))
