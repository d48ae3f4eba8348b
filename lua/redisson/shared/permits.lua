-- The permits of an RSemaphore or RPermitExpirableSemaphore: an integer, how many are free, and a sorted set with the
-- permits that have a lease: permit -> when it ends, in ms since 1970. Redisson uses the clocks of its clients there.
--- @include "shared/names"
--- @include "shared/clock"
--- @include "shared/publish"

local function is_semaphore(lock)
  return redis.call('TYPE', lock).ok == 'string'
end

-- The `i`th permit of an owner. A permit of Redisson is an owner of its own: 16 bytes, which its users see in hex.
local function permit_of(owner, i)
  if not string.find(owner, '^%x+$') then return owner .. ':' .. i end
  return (string.gsub(owner, '%x%x', function(byte) return string.char(tonumber(byte, 16)) end))
end

-- Gives permits back, and wakes the waiters of all clients.
local function give_back(lock, channel, count)
  local free = redis.call('INCRBY', lock, count)
  if free > 0 then publish(channel, free) end
end

-- Ends the permits whose lease is over.
local function end_overdue(lock, channel)
  local ended = redis.call('ZREMRANGEBYSCORE', suffixed(lock, 'timeout'), 0, clock())
  if ended > 0 then give_back(lock, channel, ended) end
end

-- The permits that an owner holds; none if the lease is over.
local function permits_of(lock, owner)
  local permits, now = {}, clock()
  while true do
    local permit = permit_of(owner, #permits + 1)
    local ends = permit ~= permits[#permits] and redis.call('ZSCORE', suffixed(lock, 'timeout'), permit)
    if not ends or tonumber(ends) <= now then return permits end
    permits[#permits + 1] = permit
  end
end

-- Makes the leases of all permits of an owner at least this long. Returns how long they are; -1: not held.
local function lengthen_permits(lock, owner, lease)
  local timeouts, permits = suffixed(lock, 'timeout'), permits_of(lock, owner)
  if #permits == 0 then return -1 end
  local now = clock()
  local left = math.max(lease, redis.call('ZSCORE', timeouts, permits[1]) - now)
  for _, permit in ipairs(permits) do redis.call('ZADD', timeouts, string.format('%.0f', now + left), permit) end
  return left
end

-- Ends the permits of an owner; returns 1, or 0 if it did not hold any.
local function end_permits(lock, owner, channel)
  local permits = permits_of(lock, owner)
  if #permits == 0 then return 0 end
  for _, permit in ipairs(permits) do redis.call('ZREM', suffixed(lock, 'timeout'), permit) end
  give_back(lock, channel, #permits)
  return 1
end
