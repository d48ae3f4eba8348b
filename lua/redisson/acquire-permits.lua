-- Acquires permits of an RSemaphore or RPermitExpirableSemaphore.
--
-- KEYS    1 semaphore, 2 unlock latch of the acquisition
-- ARGV    1 owner, 2 lease in ms, 3 number of permits, 4 how many permits there are if none is set, 5 channel,
--         6 how to publish
-- Output  { 1, 0 }; { 0, ms until a permit's lease ends, or -1 }; { 2 } if it was released before; { 3, how many there are }
--- @include "shared/names"
--- @include "shared/permits"
--- @include "shared/clock"
--- @include "shared/publish"

local SEMAPHORE, LATCH = KEYS[1], KEYS[2]
local owner, lease, units, limit, channel = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local timeouts = suffixed(SEMAPHORE, 'timeout')

-- The command has arrived twice.
if lengthen_permits(SEMAPHORE, owner, lease) > 0 then return { 1, 0 } end
if redis.call('EXISTS', LATCH) == 1 then return { 2 } end
if redis.call('SETNX', SEMAPHORE, limit) == 1 then
  -- Permits whose count was deleted are not taken any more.
  redis.call('DEL', timeouts)
  publish(channel, limit)
end
end_overdue(SEMAPHORE, channel)
local free = tonumber(redis.call('GET', SEMAPHORE))
if free < units then
  -- Permits that an RSemaphore has taken are counted nowhere.
  local all = math.max(limit, free + redis.call('ZCARD', timeouts))
  if units > all then return { 3, all } end
  local first = redis.call('ZRANGE', timeouts, 0, 0, 'WITHSCORES')
  return { 0, first[2] and math.min(tonumber(first[2]) - clock(), 2147483647) or -1 }
end
redis.call('DECRBY', SEMAPHORE, units)
local ends = string.format('%.0f', clock() + lease)
for i = 1, units do redis.call('ZADD', timeouts, ends, permit_of(owner, i)) end
local ttl = redis.call('PTTL', SEMAPHORE)
if ttl > 0 then redis.call('PEXPIRE', timeouts, ttl) end
return { 1, 0 }
