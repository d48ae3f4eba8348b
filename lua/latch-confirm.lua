-- Writes the memory of a call once more as it is, so that WAIT on the same connection tells which replicas have what the
-- call has done to a latch. Names the memory only.
--
-- KEYS  counted
-- ARGV  1 id of the call
-- Reply 1 or 0: the call is remembered or not
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('PEXPIRE', KEYS[1], math.max(1, redis.call('PTTL', KEYS[1])))
return 1
