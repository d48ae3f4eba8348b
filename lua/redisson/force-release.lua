-- Ends the named holds of a lock, of any client, and wakes the waiters of all clients.
--
-- KEYS    1 lock
-- ARGV    1-3 channels of an RLock, an RReadWriteLock and a semaphore, 4 who releases, then for each hold: owner, channel of its client; then how to publish
-- Output  { number of holds ended, number of their clients that received the message }; in a Cluster, a client may be subscribed
--         at another node, which the script does not see
--
-- A client of Redisson subscribes to no channel of its own: it finds out at its next renewal.
--- @include "shared/end-hold"
--- @include "shared/fair-queue"

local LOCK = KEYS[1]

local ended, told = 0, 0
for i = 5, #ARGV - 1, 2 do
  if end_hold(LOCK, ARGV[i], ARGV[1], ARGV[2], ARGV[3]) == 1 then
    ended = ended + 1
    if redis.call('PUBLISH', ARGV[i + 1], 'revoked ' .. ARGV[i] .. ' ' .. ARGV[4]) > 0 then told = told + 1 end
  end
end
wake_head(LOCK)
return { ended, told }
