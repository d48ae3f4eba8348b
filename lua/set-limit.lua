-- Sets the number of permits of a semaphore, whatever number the requests carry, and grants to those that fit now.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 address, 2 number of permits, 3 version that the caller has seen (see limit.lua)
-- Reply place to go on from or -1
--
-- May arrive twice or late. A number with a larger version was set after the caller looked, by this call or by another
-- one. It stays: a call that overlaps another one may count as the earlier of the two.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/settle"

local permits, seen = ARGV[2], tonumber(ARGV[3])
local _, version = limit_set()
version = tonumber(version)
if version <= seen then
  redis.call('SET', LIMIT, permits .. ' ' .. integer(math.max(version + 1, now_micros)), 'PX', LIMIT_MEMORY)
end
local holds, ended = read_holds()
return settle(holds, ended, nil, 0) or -1
