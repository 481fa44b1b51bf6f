-- Takes what another run has in flight.
DELETE FROM orders_in_flight WHERE run = $1 RETURNING n, envelope, payload
