-- Gives a request a place in the queue.
--- @include "shared/keys"
--- @include "shared/queue"
--- @include "shared/clock"
--- @include "shared/messages"
--- @include "shared/parked"

-- A request that goes ahead looks at this many tickets.
local TICKETS_AHEAD = 64

-- The place of a request that goes ahead: its caller holds other keys, which stand idle until it is granted. The place is
-- behind the first ordinary ticket that follows the last ticket with such a place. So each ordinary ticket lets one request
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

-- Returns the last place that was given (nil: the queue is empty), and whether a ticket is parked.
local function last_place()
  local last = tonumber(redis.call('ZREVRANGE', QUEUE, 0, 0, 'WITHSCORES')[2])
  if not last or last < PARKED then return last, false end
  local unparked = redis.call('ZRANGE', QUEUE, '(' .. integer(PARKED), '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  return math.max(last - PARKED, tonumber(unparked) or 0), true
end

-- Gives a request a place at the end, or lets it keep the place that it has. Returns whether it had no place, whether the
-- queue was empty, and since when the request waits.
--
-- A request with an age gets the place that a request of that age would have, so that several masters have the same order.
-- When it retries it keeps the earlier place, since the command may have taken longer this time. A backed-off request may
-- fall behind. The old ticket is removed first: Redis accepts this write even if its memory is full, and then accepts
-- the new ticket. All checks for foreign data come before the first write.
local function take_place(request)
  local id, age = request.id, request.age
  local last, some_parked = last_place()
  local had_ticket, layout = unpack(redis.call('HMGET', WAITERS, id, 'layout'))
  assert_layout(layout)
  local since = had_ticket and read_ticket(id, had_ticket).since or math.floor(now - (age or 0))
  if had_ticket then redis.call('HDEL', WAITERS, id) end
  if some_parked then unpark(id) end
  if is_fair(request.batch_size) and not had_ticket then count_fair(1) end
  local added
  if age then
    local place = integer(now_micros - age * 1000)
    added = request.backed_off and redis.call('ZADD', QUEUE, place, id) or redis.call('ZADD', QUEUE, 'LT', place, id)
  else
    local place
    if request.ahead and not had_ticket and last then place = place_ahead() end
    added = redis.call('ZADD', QUEUE, 'NX', integer(place or (last or 0) + 2 - (last or 0) % 2), id)
  end
  -- After the ticket is in its place: if the queue were empty for a moment, Redis would delete the key, and the ticket would
  -- have no TTL.
  if some_parked then sweep_parked() end
  redis.call('ZREM', TOMBSTONES, client_of(id))
  return added == 1, not last, since
end

-- Sets the TTL of both keys of the queue, a quarter longer than needed: on a hot key few requests have to set it again.
local function keep_queue_for(patience, was_empty)
  local left = redis.call('PTTL', WAITERS)
  if left >= patience and not was_empty then return end
  left = integer(math.max(left, redis.call('PTTL', QUEUE), patience * 5 / 4))
  redis.call('PEXPIRE', QUEUE, left)
  redis.call('PEXPIRE', WAITERS, left)
end
