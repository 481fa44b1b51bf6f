SELECT msg_id, topic, amount, sum FROM effects
