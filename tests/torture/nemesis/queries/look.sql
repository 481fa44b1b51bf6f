SELECT count(*) FROM effects
