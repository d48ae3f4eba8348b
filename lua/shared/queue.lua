-- The queue: tickets in the order of their places. A place is a number that only orders: the next even number, or, on several
-- masters (Redlock), the microsecond in which the request was made. An odd place is that of a request that went ahead.
--- @include "shared/keys"
--- @include "shared/modes"
--- @include "shared/clock"

-- The place of a parked ticket (shared/parked.lua) is this number farther back, behind all other tickets. Places are at most
-- microseconds since 1970, so the sums stay below 2^53.
local PARKED = 4503599627370496 -- 2^52

local function write_ticket(ticket)
  redis.call('HSET', WAITERS, ticket.id, string.format('%.0f %s %.0f %.0f %.0f %.0f %.0f %s', ticket.since, ticket.mode,
    ticket.retry_at, ticket.stale_at, ticket.lease, ticket.grant_timeout, ticket.batch_size, ticket.owner))
end

-- A place without a ticket is stale.
local function read_ticket(id, text)
  if not text then return { id = id, stale_at = 0 } end
  local since, mode, retry_at, stale_at, lease, grant_timeout, batch_size, owner =
    string.match(text, '^(%d+) (%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (.+)$')
  assert_layout(not since and 1)
  return with_mode({ id = id, since = tonumber(since), retry_at = tonumber(retry_at), stale_at = tonumber(stale_at),
    lease = tonumber(lease), grant_timeout = tonumber(grant_timeout), batch_size = tonumber(batch_size), owner = owner }, mode)
end

-- Whether the queue contains a fair request, which is served in the order of arrival across clients.
local function fair_waits()
  return redis.call('HGET', WAITERS, 'fair') ~= false
end

-- A fair request is served alone, so it has no batch.
local function is_fair(batch_size)
  return batch_size == 0
end

-- Counts fair tickets. A client writes its ticket anew with each retry, so only a new ticket adds to the count.
local function count_fair(change)
  local count = (tonumber(redis.call('HGET', WAITERS, 'fair')) or 0) + change
  if count > 0 then redis.call('HSET', WAITERS, 'fair', count) else redis.call('HDEL', WAITERS, 'fair') end
end

-- Removes a ticket. `batch_size`: that of the ticket, if it is known.
local function drop_ticket(id, batch_size)
  if not batch_size then
    local text, layout = unpack(redis.call('HMGET', WAITERS, id, 'layout'))
    assert_layout(layout)
    batch_size = text and read_ticket(id, text).batch_size
  end
  if redis.call('HDEL', WAITERS, id) == 1 and is_fair(batch_size) then count_fair(-1) end
  return redis.call('ZREM', QUEUE, id)
end

-- Returns tickets, and whether the queue contains fair requests (nil: not known).
local function tickets_of(ids)
  if #ids == 0 then return ids end
  local fields = { unpack(ids) }
  fields[#fields + 1] = 'fair'
  fields[#fields + 1] = 'layout'
  local texts = redis.call('HMGET', WAITERS, unpack(fields))
  assert_layout(texts[#fields])
  local tickets = {}
  for i, id in ipairs(ids) do tickets[i] = read_ticket(id, texts[i]) end
  return tickets, texts[#fields - 1] ~= false
end

-- Returns `count` tickets in order from a rank on, without parked ones; fewer at the end of the queue.
local function read_tickets(rank, count)
  local places = redis.call('ZRANGE', QUEUE, rank, rank + count - 1, 'WITHSCORES')
  local ids = {}
  for i = 1, #places, 2 do
    if tonumber(places[i + 1]) < PARKED then ids[#ids + 1] = places[i] end
  end
  return tickets_of(ids)
end

-- Returns `count` tickets from a place on, parked ones last, and the place to go on from ('': there are no more).
local function read_places(from, count)
  local places = redis.call('ZRANGE', QUEUE, from, '+inf', 'BYSCORE', 'LIMIT', 0, count, 'WITHSCORES')
  local ids = {}
  for i = 1, #places, 2 do ids[#ids + 1] = places[i] end
  local last = places[#places]
  -- Several tickets may have the same place (Redlock). The next page begins with it, unless this one has no other.
  local next_place = #ids < count and '' or integer(tonumber(last))
  if next_place == from then next_place = '(' .. next_place end
  return (tickets_of(ids)), next_place
end
