-- Writes a hold once more as it is, so that WAIT on the same connection tells which replicas have it. Names the state key
-- only.
--
-- KEYS  state
-- ARGV  1 hold id
-- Reply 1 or 0: it is held or not
local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], text)
return 1
