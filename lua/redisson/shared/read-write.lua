-- Where an RReadWriteLock keeps the leases of its readers: one key for each hold.
--- @include "shared/names"

-- The lease of the `i`th hold of a reader.
local function read_lease(lock, owner, i)
  return suffixed(lock, owner .. ':rwlock_timeout:' .. i)
end

-- The keys with the leases of all holds of a reader. An owner of Redisson may have several.
local function read_leases(lock, owner)
  local keys = {}
  for i = 1, tonumber(redis.call('HGET', lock, owner)) or 0 do keys[i] = read_lease(lock, owner, i) end
  return keys
end

-- The longest lease of a reader in ms; 0 if all have ended.
local function longest_read_lease(lock, owner)
  local longest = 0
  for _, key in ipairs(read_leases(lock, owner)) do longest = math.max(longest, redis.call('PTTL', key)) end
  return longest
end

-- The longest lease of all readers.
local function longest_lease(lock)
  local longest = 0
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    longest = math.max(longest, longest_read_lease(lock, field))
  end
  return longest
end

-- The key whose TTL is the lease of a hold: the lock, or a key of its own for a reader. `nil`: it is not held.
local function lease_key(lock, owner)
  if redis.call('HEXISTS', lock, owner) == 0 then
    return redis.call('HEXISTS', lock, owner .. ':write') == 1 and lock or nil
  end
  return redis.call('HEXISTS', lock, 'mode') == 1 and read_lease(lock, owner, 1) or lock
end
