-- Writes a hold again without a change, so that WAIT on the same connection counts the replicas that have it.
--
-- KEYS    1 state
-- ARGV    1 hold id
-- Output  1: held; 0: not held
local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], text)
return 1
