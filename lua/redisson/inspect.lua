-- Reads a lock or a semaphore; writes nothing.
--
-- KEYS    1 lock, 2 token counter
-- Output  { last token or 0, 'read' or 'write' for an RReadWriteLock or false, { for each owner: its field, its lease in ms } };
--         { free permits, 'permits', { for each permit: its name, its lease in ms } }
--- @include "shared/read-write"
--- @include "shared/names"
--- @include "shared/permits"
--- @include "shared/clock"

local LOCK, TOKEN = KEYS[1], KEYS[2]

if is_semaphore(LOCK) then
  local permits, now = redis.call('ZRANGE', suffixed(LOCK, 'timeout'), 0, -1, 'WITHSCORES'), clock()
  for i = 1, #permits, 2 do
    if #permits[i] == 16 then
      permits[i] = string.gsub(permits[i], '.', function(byte) return string.format('%02x', string.byte(byte)) end)
    end
    permits[i + 1] = math.max(0, math.min(permits[i + 1] - now, 2147483647))
  end
  return { redis.call('GET', LOCK), 'permits', permits }
end

local mode = redis.call('HGET', LOCK, 'mode')
local owners = {}
for _, field in ipairs(redis.call('HKEYS', LOCK)) do
  if field ~= 'mode' then
    local reads = mode and string.sub(field, -6) ~= ':write'
    owners[#owners + 1] = field
    owners[#owners + 1] = reads and longest_read_lease(LOCK, field) or redis.call('PTTL', LOCK)
  end
end
return { redis.call('GET', TOKEN) or 0, mode, owners }
