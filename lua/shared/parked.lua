-- Parks the tickets of absent clients: of a client that is not subscribed, or that has let a pushed grant expire and not
-- retried since. Each of its tickets that a script meets moves behind the queue, where no grant looks. So a dead client
-- costs nothing after the first look. When the client retries, it gets its places back.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/records"

-- A script looks at this many parked tickets: a request for a place drops the stale ones, and a lock that no other client
-- wants is granted to the first ticket whose client takes it.
--- @export
local PARKED_READ = 5
-- A client that retries finds its other tickets among this many parked ones.
local PARKED_SEARCHED = 300

-- Whether the client of a ticket is absent. A client that has let a grant expire has a tombstone until it retries.
local function is_absent(id)
  return has_record(TOMBSTONES, client_of(id)) or not is_present(id)
end

-- The client of a pushed grant has let it expire. The tombstone lives as long as any ticket that waits now.
local function count_as_absent(id)
  local lifetime = redis.call('PTTL', QUEUE)
  if lifetime > 0 then write_record(TOMBSTONES, client_of(id), lifetime) end
end

-- Parks a ticket. It keeps its place for the time when its client retries.
local function park(id)
  redis.call('ZADD', QUEUE, integer(redis.call('ZSCORE', QUEUE, id) + PARKED), id)
end

-- Gives a ticket of a client that has retried its old place back if it is parked, and then the other tickets of the client.
local function unpark(id)
  local client, place = client_of(id), tonumber(redis.call('ZSCORE', QUEUE, id) or 0)
  if place < PARKED then return end
  local parked = redis.call('ZRANGE', QUEUE, integer(PARKED), '+inf', 'BYSCORE', 'LIMIT', 0, PARKED_SEARCHED, 'WITHSCORES')
  redis.call('ZADD', QUEUE, integer(place - PARKED), id)
  for i = 1, #parked, 2 do
    if client_of(parked[i]) == client then redis.call('ZADD', QUEUE, integer(parked[i + 1] - PARKED), parked[i]) end
  end
end

local function read_parked()
  return (tickets_of(redis.call('ZRANGE', QUEUE, integer(PARKED), '+inf', 'BYSCORE', 'LIMIT', 0, PARKED_READ)))
end

local function sweep_parked()
  for _, ticket in ipairs(read_parked()) do
    if ticket.stale_at <= now then drop_ticket(ticket.id, ticket.batch_size) end
  end
end
