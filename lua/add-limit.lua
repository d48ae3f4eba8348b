-- Adds to the number of permits of a semaphore, and grants to the waiters that fit now. The number never falls below 0, and
-- never rises above MOST_PERMITS.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 address, 2 id of this call, 3 how many permits to add (less than 0: to remove), 4 number of permits if none was
--         set at run time, 5 latest time of this server at which the call may take effect, in ms
-- Output  { number of permits, or -1: too late, rank to go on from or -1 }
--
-- May arrive twice or late: the call is recorded until that latest time, and has no effect after it. The version of the
-- number stays the same. So a `set-limit` that overlaps with this call counts as the later one.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/grant-waiters"
--- @include "shared/end-batches"
--- @include "shared/records"

local record, change, stated, latest = 'added:' .. ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local holds = read_holds()
local permits, version = limit_set()
permits = permits or stated
if not has_record(TOMBSTONES, record) then
  if now > latest then return { -1, -1 } end
  permits = math.min(math.max(0, permits + change), MOST_PERMITS)
  write_record(TOMBSTONES, record, latest - now + 1)
  redis.call('SET', LIMIT, integer(permits) .. ' ' .. version, 'PX', LIMIT_RETENTION)
end
local more = grant_waiters(holds, nil, 0)
end_batches_beyond(permits, holds)
return { permits, more }
