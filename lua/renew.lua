-- Renews the leases of many locks in one step. A renewal never shortens a lease, and never creates a hold anew.
--
-- KEYS    state of each lock
-- ARGV    for each lock: hold id, lease in ms (0: as long as before)
-- Output  for each lock: ms left; -1: not held; or the error of this lock, which does not stop the others
--- @include "shared/clock"
--- @include "shared/crowd-size"

local function renew(state, id, lease)
  local text = redis.call('HGET', state, id)
  if not text then return -1 end
  local written, ends, rest = string.match(text, '^(%S+) (%d+) (.+)$')
  ends = tonumber(ends)
  if not ends or ends <= now then return -1 end
  local shared = written ~= 'exclusive'
  if shared and string.find(written, '^kept:') then return -1 end
  -- The client has taken a pushed grant if it renews it.
  local mode = shared and string.gsub(written, '^pushed:', '') or written
  local renewed = math.max(ends, now + lease)
  -- The TTL first: Redis accepts this write even if its memory is full, and then accepts the next one. The script also
  -- writes if no lease becomes longer: a write makes a former master find out that it is a replica, and must not confirm.
  redis.call('PEXPIREAT', state, integer(math.max(renewed, now + redis.call('PTTL', state))))
  if renewed > ends or mode ~= written then redis.call('HSET', state, id, mode .. ' ' .. integer(renewed) .. ' ' .. rest) end
  if shared and redis.call('HLEN', state) > CROWD then
    --- @include "shared/renew-in-crowd"
    -- The lease is renewed even if this fails (a slot that moves): a lease that is over in the index is looked up.
    pcall(renew_in_crowd, state, id, renewed)
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
