-- Reads tickets of the queue.
--- @include "shared/keys"
--- @include "shared/layout"
--- @include "shared/queue"

-- Returns tickets, and the clients that are passed over.
local function tickets_of(ids)
  if #ids == 0 then return ids, '' end
  local fields = { unpack(ids) }
  fields[#fields + 1] = 'passed'
  fields[#fields + 1] = 'layout'
  local texts = redis.call('HMGET', WAITERS, unpack(fields))
  assert_layout(texts[#fields])
  local tickets = {}
  for i, id in ipairs(ids) do tickets[i] = read_ticket(id, texts[i]) end
  return tickets, texts[#fields - 1] or ''
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

-- Returns the first `count` tickets, parked ones last.
local function read_all_tickets(count)
  return (tickets_of(redis.call('ZRANGE', QUEUE, 0, count - 1)))
end
