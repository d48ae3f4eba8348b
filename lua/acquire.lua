-- Acquires a lock, or takes a place in its queue. A command that arrives twice or late has no further effect.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit
-- ARGV    1 address (shared/messages.lua), 2-7 request (shared/request.lua)
-- Output  { HELD or HELD_PUSHED, now, token, ms of lease left, batch size }, and how many permits a hold of permits has
--         { QUEUED, QUEUED_UNSUBSCRIBED or BUSY, now, ms until the retry, last token, rank to go on from or -1,
--           ids of up to four holds ... }
--         { LEFT or UPGRADE, now }
--         { TOO_MANY, now, number of permits }
--- @include "shared/keys"
--- @include "shared/fence-retention"
--- @include "shared/reply-codes"

-- The common case, before Redis runs the rest of the script: no hold, no waiter, and a last token behind the clock. The
-- lines repeat `grant`, `next_token` and `write_hold`, since calls would take a seventh longer. A test compares the state
-- that both ways leave.
local known = ARGV[3] == 'exclusive' and redis.call('EXISTS', STATE, QUEUE, TOMBSTONES, FENCE)
local last = known == 1 and redis.call('GET', FENCE)
if known == 0 or last then
  local time = redis.call('TIME')
  local token = time[1] .. string.sub('00000' .. time[2], -6)
  if not last or (tonumber(last) or math.huge) < tonumber(token) then
    local id, lease, batch_size, now = ARGV[2], tonumber(ARGV[5]), math.max(1, ARGV[6]), string.sub(token, 1, -4)
    local owner = ARGV[4] == '' and id or ARGV[4]
    redis.call('SET', FENCE, string.format('%.0f', token + batch_size - 1), 'PX', FENCE_RETENTION + lease)
    redis.call('HSET', STATE, id, 'exclusive ' .. now + lease .. ' ' .. token .. ' ' .. now .. ' ' .. owner)
    redis.call('PEXPIRE', STATE, lease)
    return { HELD, now, token, lease, batch_size }
  end
end

--- @include "shared/request"
--- @include "shared/try-acquire"

local request = request_at(2)
request.drains = request.units == 0 and not request.waits
return try_acquire(request)
