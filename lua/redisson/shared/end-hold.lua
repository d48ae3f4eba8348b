-- Ends one hold of a lock, and wakes the waiters of all clients if the lock becomes free for them.
--- @include "shared/read-write"
--- @include "shared/permits"
--- @include "shared/publish"

-- Returns 1, or 0 if the owner did not hold it. The channels are those of an RLock, an RReadWriteLock and a semaphore.
local function end_hold(lock, owner, channel, shared, permits)
  if is_semaphore(lock) then return end_permits(lock, owner, permits) end
  -- Redis accepts the first write even if its memory is full, and then also the others.
  local reads = redis.call('HDEL', lock, owner)
  local mode = redis.call('HGET', lock, 'mode')
  if not mode then
    if reads == 1 and redis.call('EXISTS', lock) == 0 then publish(channel, '0') end
    return reads
  end
  if redis.call('HDEL', lock, owner .. ':write') == 1 then
    if redis.call('HLEN', lock) == 1 then
      redis.call('DEL', lock)
    else
      redis.call('HSET', lock, 'mode', 'read')
    end
    -- Redisson publishes nothing if the writer continues to read: other readers would wait until the TTL is over.
    publish(shared, '1')
    return 1
  end
  if reads == 0 then return 0 end
  redis.call('DEL', read_lease(lock, owner, 1))
  -- A writer that also reads keeps its lease. Redisson would cut it to that of its reads.
  if mode == 'write' then return 1 end
  local longest = longest_lease(lock)
  if longest > 0 then
    redis.call('PEXPIRE', lock, longest)
    return 1
  end
  redis.call('DEL', lock)
  publish(shared, '0')
  return 1
end
