-- Reads an RCountDownLatch.
--
-- KEYS    1 latch
-- Output  the count that is left; 0: there is no latch
return math.max(0, tonumber(redis.call('GET', KEYS[1]) or 0))
