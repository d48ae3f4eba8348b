-- Takes the lock, or a place in its queue.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 address (see shared/messages.lua), 2… request (see shared/request.lua)
-- Reply see shared/ask.lua
--
-- May arrive twice or late: its effect is that of arriving once.
--- @include "shared/keys"

-- The common case first, before the rest of the script is even looked at: nobody has it, nobody waits, and the last token
-- is behind the clock. What `grant`, `next_token` and `write_hold` do is written out here, as calling them would take a
-- seventh longer; who changes them changes this. 600000: FENCE_MEMORY.
local there = ARGV[3] == 'exclusive' and redis.call('EXISTS', STATE, QUEUE, GONE, FENCE)
local last = there == 1 and redis.call('GET', FENCE)
if there == 0 or last then
  local time = redis.call('TIME')
  local token = time[1] .. string.sub('00000' .. time[2], -6)
  if not last or (tonumber(last) or math.huge) < tonumber(token) then
    local id, lease, turns, now = ARGV[2], tonumber(ARGV[5]), math.max(1, ARGV[6]), string.sub(token, 1, -4)
    local owner = ARGV[4] == '' and id or ARGV[4]
    redis.call('SET', FENCE, string.format('%.0f', token + turns - 1), 'PX', 600000 + lease)
    redis.call('HSET', STATE, id, 'exclusive ' .. now + lease .. ' ' .. token .. ' ' .. now .. ' ' .. owner)
    redis.call('PEXPIRE', STATE, lease)
    return { 1, now, token, lease, turns }
  end
end

--- @include "shared/replies"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/request"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/settle"
--- @include "shared/gone"
--- @include "shared/ask"

return ask(request_at(2))
