-- When a waiter retries.
--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/retry-places"

-- The latest time at which a request becomes grantable (nil: there are no holds). An exclusive request needs the end of
-- all leases, other requests need the end of the first one.
local function free_at(holds, request)
  if holds.crowd then return holds.crowd.end_of_lease(request.kind == EXCLUSIVE) end
  local pick = request.kind == EXCLUSIVE and math.max or math.min
  local ends
  for _, hold in ipairs(holds) do ends = pick(ends or hold.ends, hold.ends) end
  return ends
end

-- When a waiter retries: after its period, or when the leases that block it have ended. A request that follows others retries
-- after its period only.
local function retry_time(holds, rank, request)
  local follows = request.period >= request.grant_timeout * FOLLOWER_PERIOD
  local free = not follows and free_at(holds, request)
  if not free then return now + request.period end
  return math.min(now + request.period, free + RETRY_AFTER_EXPIRY + math.min(rank, MAX_RETRY_PLACES) * RETRY_PER_PLACE)
end
