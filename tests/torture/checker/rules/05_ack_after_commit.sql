-- What was acknowledged has a record.
SELECT a.id FROM acked a WHERE NOT EXISTS (SELECT 1 FROM inbox i WHERE i.key = a.id) AND NOT EXISTS (SELECT 1 FROM aged g WHERE g.id = a.id)
