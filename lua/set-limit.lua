-- Sets the number of permits of a semaphore for all requests, and grants to the waiters that fit now.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 address, 2 number of permits, 3 version that the caller has seen (limit.lua)
-- Output  rank to go on from or -1
--
-- May arrive twice or late. If the present number has a larger version, a call has set it after the caller looked. That
-- number stays: of two calls that overlap, either may count as the earlier one.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/grant-waiters"
--- @include "shared/end-batches"

local permits, seen = ARGV[2], tonumber(ARGV[3])
local limit, version = limit_set()
local holds = read_holds()
version = tonumber(version)
if version <= seen then
  redis.call('SET', LIMIT, permits .. ' ' .. integer(math.max(version + 1, now_micros)), 'PX', LIMIT_RETENTION)
  limit = tonumber(permits)
end
local more = grant_waiters(holds, nil, 0)
end_batches_beyond(limit, holds)
return more
