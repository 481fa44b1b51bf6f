-- Removes consumer ARGV[2] from group ARGV[1] of stream KEYS[1] if nothing is pending at it. In one step,
-- because XGROUP DELCONSUMER alone drops what it was given in between, and nobody would be given it again.
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) == 0 then
	return redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
return -1
