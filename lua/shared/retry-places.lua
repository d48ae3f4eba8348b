-- When a waiter retries at the latest, after the lease that blocks it has ended.

-- A waiter retries this many ms after the lease that blocks it has ended.
--- @export
local RETRY_AFTER_EXPIRY = 2
-- Each ticket ahead of a waiter makes it retry this many ms later.
--- @export
local RETRY_PER_PLACE = 10
-- A request follows others if its period is at least this many first leases of a grant: earlier requests of its client for
-- this key retry more often.
--- @export
local FOLLOWER_PERIOD = 10
-- Only this many tickets ahead of a waiter make it retry later.
--- @export
local MAX_RETRY_PLACES = 100
