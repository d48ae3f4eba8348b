-- Ends one hold of a lock, and wakes the waiters of all clients if the lock becomes free for them.
--- @include "shared/read-write"
--- @include "shared/permits"
--- @include "shared/publish"

-- Returns 1, or 0 if the owner did not hold it. The channels are those of an RLock, an RReadWriteLock and a semaphore.
local function end_hold(lock, owner, channel, shared, permits)
  if is_semaphore(lock) then return end_permits(lock, owner, permits) end
  local leases = read_leases(lock, owner)
  -- Redis accepts the first write even if its memory is full, and then also the others.
  local reads = redis.call('HDEL', lock, owner)
  local mode = redis.call('HGET', lock, 'mode')
  if not mode then
    if reads == 1 and redis.call('EXISTS', lock) == 0 then publish(channel, '0') end
    return reads
  end
  for _, key in ipairs(leases) do redis.call('DEL', key) end
  local writes = redis.call('HDEL', lock, owner .. ':write')
  if reads + writes == 0 then return 0 end
  -- A writer that also reads keeps its lease. Redisson would cut it to that of its reads.
  if mode == 'write' and writes == 0 then return 1 end
  -- A reader whose lease has ended leaves its field behind.
  local longest = longest_lease(lock)
  if longest > 0 then
    redis.call('HSET', lock, 'mode', 'read')
    redis.call('PEXPIRE', lock, longest)
  else
    redis.call('DEL', lock)
  end
  -- Redisson publishes nothing if the writer continues to read: other readers would wait until the TTL is over.
  if writes == 1 then
    publish(shared, '1')
  elseif longest == 0 then
    publish(shared, '0')
  end
  return 1
end
