-- Releases a hold or a place in the queue of an RFairLock, and wakes the waiters of all clients.
--
-- KEYS    1 lock, 2 unlock latch of the acquisition
-- ARGV    1 owner, 2-4 channels of an RLock, an RReadWriteLock and a semaphore,
--         5 ms to keep the latch, which refuses an acquire that arrives later (0: no latch), 6 how to publish
-- Output  { 1: released; 0: the owner did not hold it, a channel whose listeners do not hear this script, or nil }
--- @include "shared/end-hold"
--- @include "shared/fair-queue"
--- @include "shared/publish"

local LOCK, LATCH = KEYS[1], KEYS[2]
local owner, keep = ARGV[1], tonumber(ARGV[5])

local released = end_hold(LOCK, owner, ARGV[2], ARGV[3], ARGV[4])
if released == 0 then leave_queue(LOCK, owner) end
wake_head(LOCK)
if keep > 0 then redis.call('SET', LATCH, released, 'PX', keep) end
return { released, unheard }
