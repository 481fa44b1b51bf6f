-- This run lives.
UPDATE orders_runs SET beat = beat + 1 WHERE run = $1
