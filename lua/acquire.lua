-- Acquires a lock, or takes a place in its queue. A command that arrives twice or late has no further effect.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 address (shared/messages.lua), 2-7 request (shared/request.lua)
-- Output  the token, if the key was free: the hold has the lease and the uncontended batch size of the request, and began
--           at the time in the token
--         { HELD or HELD_PUSHED, now, rank, token, ms of lease left, batch size }, and how many permits a hold of permits has
--         { QUEUED, QUEUED_UNSUBSCRIBED or BUSY, now, rank, ms until the retry, last token, ids of up to four holds ... }
--         { LEFT or UPGRADE, now, rank } or { TOO_MANY, now, rank, number of permits }
--         The rank is the one to go on from, or -1. A request that is granted or refused does not go on itself: then the
--         other waiters do.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/holds"
--- @include "shared/request"
--- @include "shared/grant"
--- @include "shared/try-acquire"

-- The common case, before Redis runs the rest of the script: no hold, no waiter, and a last token behind the clock. The
-- lines repeat `grant`, `next_token` and `add_hold`, since calls would take a seventh longer. The reply is one number:
-- a list would take a tenth longer here, and the client would need longer to read it. A test compares the replies and the
-- states of both ways.
local known = ARGV[3] == 'exclusive' and redis.call('EXISTS', STATE, QUEUE, TOMBSTONES, FENCE)
local last = known == 1 and redis.call('GET', FENCE)
if known == 0 or last and (tonumber(last) or math.huge) < now_micros then
  local id, lease, token = ARGV[2], ARGV[5], string.format('%.0f', now_micros)
  local owner, since = ARGV[4] == '' and id or ARGV[4], string.sub(token, 1, -4)
  redis.call('SET', FENCE, string.format('%.0f', now_micros + math.max(1, ARGV[6]) - 1), 'PX', FENCE_RETENTION + lease)
  redis.call('HSET', STATE, id, 'exclusive held ' .. since + lease .. ' ' .. token .. ' ' .. since .. ' ' .. owner)
  redis.call('PEXPIRE', STATE, lease)
  return now_micros
end

local request = request_at(2)
request.drains = request.units == 0 and not request.waits
local holds = read_holds(request.id)
return grant_at_once(holds, request) or try_acquire(holds, request)
