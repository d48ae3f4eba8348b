-- Renews the leases of many locks in one step. A renewal never shortens a lease, and never creates a hold anew.
--
-- KEYS    state of each lock
-- ARGV    for each lock: hold id, lease in ms (0: as long as before)
-- Output  for each lock: ms left; -1: not held; or the error of this lock, which does not stop the others
--- @include "shared/clock"
--- @include "shared/hold"

local function renew(state, id, lease)
  local field, text = id, redis.call('HGET', state, id)
  if not text then
    field = '+' .. id
    text = redis.call('HGET', state, field)
  end
  local mode, status, ends, rest = string.match(text or '', '^(%S+) (%a+) (%d+) (.+)$')
  ends = tonumber(ends)
  if not ends or ends <= now or status == STATUS_KEPT then return -1 end
  local renewed = math.max(ends, now + lease)
  -- The TTL first: Redis accepts this write even if its memory is full, and then accepts the next one. The script also
  -- writes if no lease becomes longer: a write makes a former master find out that it is a replica, and must not confirm.
  redis.call('PEXPIREAT', state, integer(math.max(renewed, now + redis.call('PTTL', state))))
  -- The client has taken a pushed grant if it renews it.
  if renewed > ends or status == STATUS_PUSHED then
    redis.call('HSET', state, field, mode .. ' ' .. STATUS_HELD .. ' ' .. integer(renewed) .. ' ' .. rest)
  end
  return renewed - now
end

local replies = {}
for i, state in ipairs(KEYS) do
  local worked, reply = pcall(renew, state, ARGV[2 * i - 1], tonumber(ARGV[2 * i]))
  if not worked and type(reply) ~= 'table' then reply = { err = tostring(reply) } end
  -- The error of a replica concerns all locks. As the reply to the command it makes the client reconnect to the master.
  if not worked and string.find(reply.err, 'READONLY', 1, true) then return reply end
  replies[i] = reply
end
return replies
