-- Closes an RCountDownLatch, unless it is closed.
--
-- KEYS    1 latch, 2 record of the call
-- ARGV    1 count, 2 channel, 3 ms to keep the record, by which a repetition is recognised, 4 how to publish
-- Output  1: closed by this call; 0: it was closed already
--- @include "shared/publish"

local LATCH, RECORD = KEYS[1], KEYS[2]

if redis.call('EXISTS', RECORD) == 1 then return 1 end
if redis.call('SETNX', LATCH, ARGV[1]) == 0 then return 0 end
redis.call('SET', RECORD, 1, 'PX', ARGV[3])
publish(ARGV[2], '1')
return 1
