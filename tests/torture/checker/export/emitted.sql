SELECT event_id, cause, sum FROM emitted
