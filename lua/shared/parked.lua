-- Reads parked tickets.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/queue"
--- @include "shared/read-tickets"

-- A request for a place looks at this many parked tickets, and drops the stale ones.
--- @export
local PARKED_SWEPT = 10

-- Returns the first `count` parked tickets.
local function read_parked(count)
  return (tickets_of(redis.call('ZRANGE', QUEUE, integer(PARKED), '+inf', 'BYSCORE', 'LIMIT', 0, count)))
end

local function sweep_parked()
  for _, ticket in ipairs(read_parked(PARKED_SWEPT)) do
    if ticket.stale_at <= now then drop_ticket(ticket.id, ticket.batch_size) end
  end
end
