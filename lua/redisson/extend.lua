-- Sets a new lease of a hold, longer or shorter.
--
-- KEYS    1 lock
-- ARGV    1 owner, 2 lease in ms, 3 longest lease of a read lock in ms
-- Output  ms left; -1: not held; -2: longer than a read lock may have
--- @include "shared/read-write"
--- @include "shared/permits"
--- @include "shared/lengthen"

local LOCK = KEYS[1]
local owner, lease, longest = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

if is_semaphore(LOCK) then return set_permit_lease(LOCK, owner, lease, true) end
local key = lease_key(LOCK, owner)
if not key then return -1 end
if key == LOCK then
  -- A writer may also read, and may read on after its write lock.
  redis.call('PEXPIRE', LOCK, math.max(lease, longest_lease(LOCK)))
  return lease
end
if lease > longest then return -2 end
if redis.call('PEXPIRE', key, lease) == 0 then return -1 end
if redis.call('HGET', LOCK, 'mode') == 'read' then
  redis.call('PEXPIRE', LOCK, longest_lease(LOCK))
else
  -- A writer that also reads keeps its lease.
  lengthen(LOCK, lease)
end
return lease
