-- Acquires the read lock or the write lock of an RReadWriteLock.
--
-- KEYS    1 lock, 2 unlock latch of the acquisition
-- ARGV    1 owner (`uuid:number`), 2 lease in ms, 3 'read' or 'write', 4 the owner whose write lock admits the reader
-- Output  { 1, 0 }; { 0, PTTL of the lock, its fields if they are few }; { 2 } if it was released before
--
-- As in acquire.lua, each acquisition is an owner of its own, with a count of 1.
--- @include "shared/read-write"
--- @include "shared/lengthen"

local LOCK, LATCH = KEYS[1], KEYS[2]
local owner, lease, wanted, writer = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
-- More of them would make the reply long, and name no holder that the waiter has to look after.
local FEW = 16

local field = wanted == 'write' and owner .. ':write' or owner
if redis.call('HEXISTS', LOCK, field) == 0 then
  if redis.call('EXISTS', LATCH) == 1 then return { 2 } end
  local mode = redis.call('HGET', LOCK, 'mode')
  local free = redis.call('EXISTS', LOCK) == 0
  local admits = mode == 'read' or mode == 'write' and redis.call('HEXISTS', LOCK, writer .. ':write') == 1
  -- A hash without a mode is an RLock. Redisson would join it, so that both have the lock.
  if not free and not (wanted == 'read' and admits) then
    local fields = redis.call('HLEN', LOCK) <= FEW and redis.call('HKEYS', LOCK) or {}
    return { 0, redis.call('PTTL', LOCK), unpack(fields) }
  end
  if free then redis.call('HSET', LOCK, 'mode', wanted) end
end
redis.call('HSET', LOCK, field, 1)
if wanted == 'read' then
  local own = read_lease(LOCK, owner, 1)
  redis.call('SET', own, 1, 'PX', math.max(redis.call('PTTL', own), lease))
end
lengthen(LOCK, lease)
return { 1, 0 }
