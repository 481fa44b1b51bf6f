-- For the probes that run beside the work.
CREATE INDEX effects_msg_id ON effects (msg_id)
