-- Writes the record of a call to a latch again without a change, so that WAIT on the same connection counts the replicas
-- that have the effect of the call.
--
-- KEYS    1 counted
-- ARGV    1 id of the call
-- Output  1: the call is recorded; 0: it is not
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('PEXPIRE', KEYS[1], math.max(1, redis.call('PTTL', KEYS[1])))
return 1
