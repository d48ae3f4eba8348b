-- The queue: tickets in the order of their places. A place is a number that only orders: the last place + 1, or, on several
-- masters (Redlock), the microsecond in which the request was made.
--- @include "shared/keys"
--- @include "shared/layout"
--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/client"

-- A waiter retries this many ms after the lease that blocks it has ended.
--- @export
local RETRY_AFTER_EXPIRY = 2
-- Each ticket ahead of a waiter makes it retry this many ms later.
--- @export
local RETRY_PER_PLACE = 10
-- Only this many tickets ahead of a waiter make it retry later.
--- @export
local MAX_RETRY_PLACES = 100

local function write_ticket(ticket)
  redis.call('HSET', WAITERS, ticket.id, string.format('%s %.0f %.0f %.0f %.0f %.0f %s', ticket.mode, ticket.retry_at,
    ticket.stale_at, ticket.lease, ticket.grant_timeout, ticket.batch_size, ticket.owner))
end

-- A ticket whose client could not take a grant is parked: its place grows by this number, behind all other tickets. No
-- grant looks at parked tickets, so a dead client costs nothing after the first look. A client gets its old place back when
-- it retries. Places are at most microseconds since 1970, so the sums stay below 2^53.
local PARKED = 4503599627370496 -- 2^52
-- A new ticket looks at this many parked tickets, and drops the stale ones.
--- @export
local PARKED_SWEPT = 10
-- A client that retries finds its own tickets among this many parked ones.
local PARKED_SEARCHED = 1000

-- A client that has let a grant expire is passed over: its tickets are parked until it retries. The field 'passed' of the
-- waiters names these clients. It has this many characters at most, enough for the last hundred clients.
local PASSED_LENGTH = 4000

local function pass_over(clients)
  local passed = (redis.call('HGET', WAITERS, 'passed') or '') .. clients
  redis.call('HSET', WAITERS, 'passed', string.sub(passed, -PASSED_LENGTH))
end

-- With the last ticket the whole queue disappears.
local function forget_passed()
  if redis.call('EXISTS', QUEUE) == 0 then redis.call('HDEL', WAITERS, 'passed') end
end

local function no_longer_passed_over(passed, client)
  passed = string.gsub(passed, client .. ' ', '')
  if passed == '' then redis.call('HDEL', WAITERS, 'passed') else redis.call('HSET', WAITERS, 'passed', passed) end
end

-- A place without a ticket is stale.
local function read_ticket(id, text)
  if not text then return { id = id, stale_at = 0 } end
  local mode, retry_at, stale_at, lease, grant_timeout, batch_size, owner =
    string.match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (.+)$')
  return with_mode({ id = id, retry_at = tonumber(retry_at), stale_at = tonumber(stale_at), lease = tonumber(lease),
    grant_timeout = tonumber(grant_timeout), batch_size = tonumber(batch_size), owner = owner }, mode)
end

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
  return tickets_of(redis.call('ZRANGE', QUEUE, '-inf', '(' .. integer(PARKED), 'BYSCORE', 'LIMIT', rank, count))
end

-- Returns the first `count` tickets, parked ones last.
local function read_all_tickets(count)
  return (tickets_of(redis.call('ZRANGE', QUEUE, 0, count - 1)))
end

-- Whether the queue contains a fair request, which is served in the order of arrival across clients.
local function fair_waits()
  return redis.call('HEXISTS', WAITERS, 'fair') == 1
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
  local passed
  if not batch_size then
    local text, layout
    text, passed, layout = unpack(redis.call('HMGET', WAITERS, id, 'passed', 'layout'))
    assert_layout(layout)
    batch_size = text and read_ticket(id, text).batch_size
  end
  if redis.call('HDEL', WAITERS, id) == 1 and is_fair(batch_size) then count_fair(-1) end
  local had_place = redis.call('ZREM', QUEUE, id)
  if passed then forget_passed() end
  return had_place
end

-- Parks a ticket. It keeps its place for the time when its client retries.
local function park(id)
  local place = tonumber(redis.call('ZSCORE', QUEUE, id))
  redis.call('ZADD', QUEUE, integer(place + PARKED), id)
end

-- Returns the first `count` parked tickets.
local function read_parked(count)
  return (tickets_of(redis.call('ZRANGE', QUEUE, integer(PARKED), '+inf', 'BYSCORE', 'LIMIT', 0, count)))
end

local function sweep_parked()
  for _, ticket in ipairs(read_parked(PARKED_SWEPT)) do
    if ticket.stale_at <= now then drop_ticket(ticket.id, ticket.batch_size) end
  end
end

-- Gives all tickets of a client that retries their old places back.
local function unpark(client)
  local parked = redis.call('ZRANGE', QUEUE, integer(PARKED), '+inf', 'BYSCORE', 'LIMIT', 0, PARKED_SEARCHED, 'WITHSCORES')
  for i = 1, #parked, 2 do
    if client_of(parked[i]) == client then
      redis.call('ZADD', QUEUE, integer(tonumber(parked[i + 1]) - PARKED), parked[i])
    end
  end
end

-- Returns the last place that was given (nil: the queue is empty), and whether a ticket is parked.
local function last_place()
  local last = tonumber(redis.call('ZREVRANGE', QUEUE, 0, 0, 'WITHSCORES')[2])
  if not last or last < PARKED then return last, false end
  local unparked = redis.call('ZRANGE', QUEUE, '(' .. integer(PARKED), '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  return math.max(last - PARKED, tonumber(unparked) or 0), true
end

-- Gives a request a place at the end, or lets it keep the place that it has. Returns whether it had no place, and whether
-- the queue was empty.
--
-- A request with an age gets the place that a request of that age would have, so that several masters have the same order.
-- When it retries it keeps the earlier place, since the command may have taken longer this time. A backed-off request may
-- fall behind. The old ticket is removed first: Redis accepts this write even if its memory is full, and then accepts
-- the new ticket. All checks for foreign data come before the first write.
local function take_place(request)
  local id, age = request.id, request.age
  local last, some_parked = last_place()
  local had_ticket, passed, layout = unpack(redis.call('HMGET', WAITERS, id, 'passed', 'layout'))
  assert_layout(layout)
  if had_ticket then redis.call('HDEL', WAITERS, id) end
  if passed and string.find(passed, client_of(id), 1, true) then no_longer_passed_over(passed, client_of(id)) end
  if some_parked then
    local place = tonumber(redis.call('ZSCORE', QUEUE, id) or -1)
    if place >= PARKED then unpark(client_of(id)) end
  end
  if is_fair(request.batch_size) and not had_ticket then count_fair(1) end
  local added
  if age then
    local place = integer(now_micros - age * 1000)
    added = request.backed_off and redis.call('ZADD', QUEUE, place, id) or redis.call('ZADD', QUEUE, 'LT', place, id)
  else
    added = redis.call('ZADD', QUEUE, 'NX', integer((last or 0) + 1), id)
  end
  -- After the new ticket: if the queue were empty for a moment, Redis would delete the key, and the new ticket would have
  -- no TTL.
  if some_parked and added == 1 then sweep_parked() end
  return added == 1, not last
end

-- Sets the TTL of both keys of the queue, a quarter longer than needed: on a hot key few requests have to set it again.
local function keep_queue_for(patience, was_empty)
  local left = redis.call('PTTL', WAITERS)
  if left >= patience and not was_empty then return end
  left = integer(math.max(left, redis.call('PTTL', QUEUE), patience * 5 / 4))
  redis.call('PEXPIRE', QUEUE, left)
  redis.call('PEXPIRE', WAITERS, left)
end

-- When a waiter retries: after its period, or when the leases that block it have ended.
local function retry_time(holds, rank, request)
  local free = free_at(holds, request)
  if not free then return now + request.period end
  return math.min(now + request.period, free + RETRY_AFTER_EXPIRY + math.min(rank, MAX_RETRY_PLACES) * RETRY_PER_PLACE)
end
