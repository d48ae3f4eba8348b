-- Counts a latch down by one. At 0 the script deletes the latch, records that it has opened, and sends a message to each
-- client that waits. A command that arrives twice or late has no further effect.
--
-- KEYS    1 latch, 2 counted
-- ARGV    1 address, 2 id of this call, 3 ms to keep the record of the call
-- Output  { count left, 1: this call has counted, or 0: there was no latch }
--- @include "shared/clock"
--- @include "shared/latch"
--- @include "shared/records"
--- @include "shared/messages"

local id, lifetime_of_record = ARGV[2], tonumber(ARGV[3])
local left = count_left()
if has_record(COUNTED, id) then return { left, 1 } end
if left == 0 then return { 0, 0 } end
-- A command without a reply is sent again when the network is back, however late that is.
local lifetime = redis.call('HGET', LATCH, 'lifetime')
lifetime_of_record = math.max(lifetime_of_record, tonumber(lifetime))
write_record(COUNTED, id, lifetime_of_record)
if left > 1 then
  redis.call('HSET', LATCH, 'count', integer(left - 1))
  redis.call('PEXPIRE', LATCH, lifetime)
  return { left - 1, 1 }
end

local fields = redis.call('HGETALL', LATCH)
local name = redis.call('HGET', LATCH, 'name')
redis.call('DEL', LATCH)
write_record(COUNTED, 'opened:' .. name, math.max(lifetime_of_record, OPENED_RETENTION))
for i = 1, #fields, 2 do
  local client, waits_until = string.match(fields[i], '^client:(.+)$'), tonumber(fields[i + 1])
  if client and waits_until > now then publish_opened(client, name) end
end
return { 0, 1 }
