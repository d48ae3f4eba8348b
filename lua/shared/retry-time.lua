-- When a waiter retries.
--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/ends"

-- A waiter retries this many ms after the lease that blocks it has ended.
--- @export
local RETRY_AFTER_EXPIRY = 2
-- Each ticket ahead of a waiter makes it retry this many ms later.
local RETRY_PER_PLACE = 10
-- A request follows others if its period is at least this many first leases of a grant: earlier requests of its client for
-- this key retry more often.
--- @export
local FOLLOWER_PERIOD = 10
-- Only this many tickets ahead of a waiter make it retry later.
local MAX_RETRY_PLACES = 100

-- When a request becomes grantable, if no holder releases or renews earlier; nil: not known, or there are no holds. An
-- exclusive request needs the end of all leases, other requests need the end of the first one.
local function free_at(holds, request)
  if holds.only then return holds.only.ends end
  if not holds.is_many then return end
  if request.kind ~= EXCLUSIVE then return first_end() end
  local last = read_latest(1)[1]
  return last and last.ends
end

-- When a waiter retries: after its period, or when the leases that block it have ended. A request that follows others retries
-- after its period only.
local function retry_time(holds, rank, request)
  local follows = request.period >= request.grant_timeout * FOLLOWER_PERIOD
  local free = not follows and free_at(holds, request)
  if not free then return now + request.period end
  return math.min(now + request.period, free + RETRY_AFTER_EXPIRY + math.min(rank, MAX_RETRY_PLACES) * RETRY_PER_PLACE)
end
