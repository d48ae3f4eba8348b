-- Parks tickets, and ends their parking.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/client"
--- @include "shared/queue"

-- Parks a ticket. It keeps its place for the time when its client retries.
local function park(id)
  local place = tonumber(redis.call('ZSCORE', QUEUE, id))
  redis.call('ZADD', QUEUE, integer(place + PARKED), id)
end

-- A client that retries finds its other tickets among this many parked ones.
--- @export
local PARKED_SEARCHED = 300

-- Gives a ticket its old place back, and then the other tickets of its client. `place`: where the ticket is parked.
local function unpark(id, place)
  local client = client_of(id)
  redis.call('ZADD', QUEUE, integer(place - PARKED), id)
  local parked = redis.call('ZRANGE', QUEUE, integer(PARKED), '+inf', 'BYSCORE', 'LIMIT', 0, PARKED_SEARCHED, 'WITHSCORES')
  for i = 1, #parked, 2 do
    if client_of(parked[i]) == client then
      redis.call('ZADD', QUEUE, integer(tonumber(parked[i + 1]) - PARKED), parked[i])
    end
  end
end
