-- Messages of one key are applied in the order of the source, but for those that were dead in between.
SELECT a.msg_id || ' before ' || b.msg_id FROM items a JOIN items b ON b.key = a.key AND b.pos = a.pos + 1
JOIN sent s ON s.id = a.msg_id JOIN sent t ON t.id = b.msg_id
WHERE s.n > t.n AND (SELECT value FROM run WHERE name = 'ordered') = 1
AND NOT EXISTS (SELECT 1 FROM letters l WHERE l.key IN (a.msg_id, b.msg_id))
