-- The place of a request that goes ahead: its caller holds other keys, which stand idle until it is granted.
--- @include "shared/keys"
--- @include "shared/queue"

-- A script looks at this many tickets.
--- @export
local TICKETS_AHEAD = 64

-- Behind the first ordinary ticket that follows the last ticket with such a place. So each ordinary ticket lets one request
-- pass, and none waits forever. Nil: at the end of the queue. While a fair request waits, no request passes others.
local function place_ahead()
  if fair_waits() then return end
  local behind
  local tickets = redis.call('ZRANGE', QUEUE, 0, TICKETS_AHEAD - 1, 'WITHSCORES')
  for i = 2, #tickets, 2 do
    local place = tonumber(tickets[i])
    if place >= PARKED then break end
    if place % 2 == 1 then behind = nil else behind = behind or place end
  end
  return behind and behind + 1
end
