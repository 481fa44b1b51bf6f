SELECT message_id, 'ready' FROM headrace_outbox UNION ALL SELECT message_id, reason FROM headrace_outbox_held
