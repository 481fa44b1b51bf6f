-- By hand, before the call: it may have happened from now on.
INSERT INTO bench_steps (message_id, step, state) VALUES ($1, $2, 'pending')
