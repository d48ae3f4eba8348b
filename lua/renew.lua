-- Renews the leases of many locks in one step: each lasts at least as long as asked from now on, and never shorter
-- than before. A hold that is gone is not made anew. Names state keys only.
--
-- KEYS  state of each lock
-- ARGV  for each lock: hold id, lease (0: as long as before)
-- Reply for each lock: ms left; -1 it is not held; or the error of this lock, which does not stop the others
--- @include "shared/clock"

local function renew(state, id, lease)
  local text = redis.call('HGET', state, id)
  if not text then return -1 end
  local written, ends, rest = string.match(text, '^(%S+) (%d+) (.+)$')
  ends = tonumber(ends)
  if not ends or ends <= now or string.find(written, '^kept:') then return -1 end
  -- A grant that was pushed has been taken: its client asks about it.
  local mode = string.gsub(written, '^pushed:', '')
  local renewed = math.max(ends, now + lease)
  -- The TTL first: it is a write that Redis takes also when its memory is full, and then it takes the next one. Also where
  -- nothing becomes longer: a master that has become a replica finds it out by a write, and may not confirm anything.
  redis.call('PEXPIREAT', state, integer(math.max(renewed, now + redis.call('PTTL', state))))
  if renewed > ends or mode ~= written then redis.call('HSET', state, id, mode .. ' ' .. integer(renewed) .. ' ' .. rest) end
  return renewed - now
end

local replies = {}
for i, state in ipairs(KEYS) do
  local worked, reply = pcall(renew, state, ARGV[2 * i - 1], tonumber(ARGV[2 * i]))
  if not worked and type(reply) ~= 'table' then reply = { err = tostring(reply) } end
  -- Of a replica: it is everybody's, and as the answer to the command it has the client connect anew, to the master.
  if not worked and string.find(reply.err, 'READONLY', 1, true) then return reply end
  replies[i] = reply
end
return replies
