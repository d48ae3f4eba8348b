-- Counts a latch down by one. At 0 the latch is gone, a mark says that it has opened, and each client that waits for it
-- is told.
--
-- KEYS  latch, counted
-- ARGV  1 address, 2 id of this call, 3 ms to remember the id
-- Reply how much is left, 1 or 0: this call has counted, or there was no latch
--
-- May arrive twice or late: its effect is that of arriving once.
--- @include "shared/clock"
--- @include "shared/latch"

local id, memory = ARGV[2], tonumber(ARGV[3])
local left = count_left()
if has_counted(id) then return { left, 1 } end
if left == 0 then return { 0, 0 } end
-- What got no reply is sent again when the network is back, however late that is.
local lifetime = redis.call('HGET', LATCH, 'lifetime')
memory = math.max(memory, tonumber(lifetime))
remember(id, memory)
if left > 1 then
  redis.call('HSET', LATCH, 'count', integer(left - 1))
  redis.call('PEXPIRE', LATCH, lifetime)
  return { left - 1, 1 }
end

--- @include "shared/messages"

local fields = redis.call('HGETALL', LATCH)
local name = redis.call('HGET', LATCH, 'name')
redis.call('DEL', LATCH)
remember('opened:' .. name, math.max(memory, OPENED_MEMORY))
for i = 1, #fields, 2 do
  local client, waits_until = string.match(fields[i], '^client:(.+)$'), tonumber(fields[i + 1])
  if client and waits_until > now then tell_opened(client, name) end
end
return { 0, 1 }
