-- Handlers are given what was sent, byte for byte.
SELECT e.msg_id FROM effects e JOIN sent s ON s.id = e.msg_id WHERE e.sum <> s.sum
