-- The amount of an effect is that of its message.
SELECT e.msg_id FROM effects e JOIN sent s ON s.id = e.msg_id WHERE e.amount <> s.amount
