-- Reads tickets of the queue.
--- @include "shared/keys"
--- @include "shared/layout"
--- @include "shared/clock"
--- @include "shared/queue"

-- Returns tickets, the clients that are passed over, and whether the queue contains fair requests (nil: not known).
local function tickets_of(ids)
  if #ids == 0 then return ids, '' end
  local fields = { unpack(ids) }
  fields[#fields + 1] = 'fair'
  fields[#fields + 1] = 'passed'
  fields[#fields + 1] = 'layout'
  local texts = redis.call('HMGET', WAITERS, unpack(fields))
  assert_layout(texts[#fields])
  local tickets = {}
  for i, id in ipairs(ids) do tickets[i] = read_ticket(id, texts[i]) end
  return tickets, texts[#fields - 1] or '', texts[#fields - 2] ~= false
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
  return tickets_of(ids), next_place
end
