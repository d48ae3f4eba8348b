-- Counts an RCountDownLatch down by one, and wakes its waiters at 0.
--
-- KEYS    1 latch, 2 record of the call
-- ARGV    1 channel, 2 ms to keep the record, by which a repetition is recognised, 3 how to publish
-- Output  { count that is left, 1 }; { 0, 0 }: there is no latch
--- @include "shared/publish"

local LATCH, RECORD = KEYS[1], KEYS[2]

local done = redis.call('GET', RECORD)
if done then return { tonumber(done), 1 } end
if redis.call('EXISTS', LATCH) == 0 then return { 0, 0 } end
local left = math.max(0, redis.call('DECR', LATCH))
redis.call('SET', RECORD, left, 'PX', ARGV[2])
if left == 0 then
  redis.call('DEL', LATCH)
  publish(ARGV[1], '0')
end
return { left, 1 }
