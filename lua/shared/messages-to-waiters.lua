-- Messages to waiters: grants, and requests to retry.
--- @include "shared/clock"
--- @include "shared/messages"

local function publish_to_waiter(id, ...)
  call_if_known(SHARDED and 'SPUBLISH' or 'PUBLISH', channel_of(id), table.concat({ ... }, ' '))
end

local function publish_granted(hold)
  publish_to_waiter(hold.id, 'granted', hold.id, integer(hold.token), integer(hold.ends - now), integer(now),
    hold.batch_size, hold.units or 0, KEY)
end

-- Has a waiter retry after `delay` ms.
local function publish_retry(id, delay)
  publish_to_waiter(id, 'retry', id, integer(delay), KEY)
end
