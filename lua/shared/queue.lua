-- The queue: tickets in the order in which they came.

-- A waiter asks this long after the end of a lease that stands in its way, and later the farther back it is.
local AFTER_END, PER_PLACE, MOST_PLACES = 2, 10, 100

local function write_ticket(ticket)
  redis.call('HSET', WAITERS, ticket.id, string.format('%s %.0f %.0f %.0f %.0f %.0f %s', ticket.mode, ticket.ask_at,
    ticket.stale_at, ticket.lease, ticket.grant_timeout, ticket.turns, ticket.owner))
end

-- A ticket whose client could not take a grant is parked: behind all others, at its place and this much more. No grant
-- looks at parked tickets, so dead clients cost nothing after the first look. A client has its old place back as soon as
-- it asks again. Places are at most microseconds since 1970, so the sums stay below 2^53.
local PARKED = 4503599627370496 -- 2^52
-- So many parked tickets are looked at when a new one comes, and dropped if they are stale.
local PARKED_SWEPT = 10
-- So many are searched for those of a client that asks again.
local PARKED_SEARCHED = 1000

-- A client that has let a grant run out is passed over: its tickets are parked, until it asks for the lock again. The
-- field 'passed' of the waiters names such clients, the last hundred or so.
local PASSED_LENGTH = 4000

local function pass_over(clients)
  local passed = (redis.call('HGET', WAITERS, 'passed') or '') .. clients
  redis.call('HSET', WAITERS, 'passed', string.sub(passed, -PASSED_LENGTH))
end

-- With the last ticket nothing is left of the queue.
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
  local mode, ask_at, stale_at, lease, grant_timeout, turns, owner =
    string.match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (.+)$')
  return with_mode({ id = id, ask_at = tonumber(ask_at), stale_at = tonumber(stale_at),
    lease = tonumber(lease), grant_timeout = tonumber(grant_timeout), turns = tonumber(turns), owner = owner }, mode)
end

-- Tickets, and the clients that are passed over.
local function tickets_of(ids)
  if #ids == 0 then return ids, '' end
  local fields = { unpack(ids) }
  fields[#fields + 1] = 'passed'
  local texts = redis.call('HMGET', WAITERS, unpack(fields))
  local tickets = {}
  for i, id in ipairs(ids) do tickets[i] = read_ticket(id, texts[i]) end
  return tickets, texts[#fields] or ''
end

-- So many tickets in turn, from a place on, without those that are parked; fewer at the end of the queue.
local function read_tickets(place, count)
  return tickets_of(redis.call('ZRANGE', QUEUE, '-inf', '(' .. integer(PARKED), 'BYSCORE', 'LIMIT', place, count))
end

-- The first so many tickets, parked ones last.
local function read_all_tickets(count)
  return (tickets_of(redis.call('ZRANGE', QUEUE, 0, count - 1)))
end

-- Whether the queue contains a fair request: one that is served in the order in which all clients came.
local function fair_waits()
  return redis.call('HEXISTS', WAITERS, 'fair') == 1
end

-- Fair tickets are counted. One is written anew at each question, so only those that had no ticket add to the count.
local function count_fair(change)
  local count = (tonumber(redis.call('HGET', WAITERS, 'fair')) or 0) + change
  if count > 0 then redis.call('HSET', WAITERS, 'fair', count) else redis.call('HDEL', WAITERS, 'fair') end
end

-- `turns`: those of its ticket, if they are known; a fair one has none.
local function drop_ticket(id, turns)
  local passed
  if not turns then
    local text
    text, passed = unpack(redis.call('HMGET', WAITERS, id, 'passed'))
    turns = text and read_ticket(id, text).turns
  end
  if redis.call('HDEL', WAITERS, id) == 1 and turns == 0 then count_fair(-1) end
  local had_place = redis.call('ZREM', QUEUE, id)
  if passed then forget_passed() end
  return had_place
end

-- Has a ticket keep its place for when its client asks again.
local function park(id)
  local place = tonumber(redis.call('ZSCORE', QUEUE, id))
  redis.call('ZADD', QUEUE, integer(place + PARKED), id)
end

-- The first so many tickets that are parked.
local function read_parked(count)
  return (tickets_of(redis.call('ZRANGE', QUEUE, integer(PARKED), '+inf', 'BYSCORE', 'LIMIT', 0, count)))
end

local function sweep_parked()
  for _, ticket in ipairs(read_parked(PARKED_SWEPT)) do
    if ticket.stale_at <= now then drop_ticket(ticket.id, ticket.turns) end
  end
end

-- A client asks, so all its tickets have their old places back.
local function unpark(client)
  local parked = redis.call('ZRANGE', QUEUE, integer(PARKED), '+inf', 'BYSCORE', 'LIMIT', 0, PARKED_SEARCHED, 'WITHSCORES')
  for i = 1, #parked, 2 do
    if client_of(parked[i]) == client then
      redis.call('ZADD', QUEUE, integer(tonumber(parked[i + 1]) - PARKED), parked[i])
    end
  end
end

-- The last place that has been given, and whether a ticket is parked.
local function last_place()
  local last = tonumber(redis.call('ZREVRANGE', QUEUE, 0, 0, 'WITHSCORES')[2])
  if not last or last < PARKED then return last, false end
  local unparked = redis.call('ZRANGE', QUEUE, '(' .. integer(PARKED), '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  return math.max(last - PARKED, tonumber(unparked) or 0), true
end

-- Takes a place at the end, or keeps the one that it has. A request with an age takes the place of somebody who came so
-- long ago, so that several masters have the same order; asking again it keeps the one that it has, as the way may have
-- taken longer this time, but for one that has made itself younger. Its old ticket goes first: a write that Redis takes
-- also when its memory is full, and then it takes the new one. Where foreign data stand in the way nothing has been
-- written yet.
-- Answers whether it had none, and whether nobody had one.
local function take_place(request)
  local id, age = request.id, request.age
  local last, some_parked = last_place()
  local had_ticket, passed = unpack(redis.call('HMGET', WAITERS, id, 'passed'))
  if had_ticket then redis.call('HDEL', WAITERS, id) end
  if passed and string.find(passed, client_of(id), 1, true) then no_longer_passed_over(passed, client_of(id)) end
  if some_parked then
    local place = tonumber(redis.call('ZSCORE', QUEUE, id) or -1)
    if place >= PARKED then unpark(client_of(id)) end
  end
  if request.turns == 0 and not had_ticket then count_fair(1) end
  local added
  if age then
    local place = integer(now_micros - age * 1000)
    added = request.younger and redis.call('ZADD', QUEUE, place, id) or redis.call('ZADD', QUEUE, 'LT', place, id)
  else
    added = redis.call('ZADD', QUEUE, 'NX', integer((last or 0) + 1), id)
  end
  -- Behind the new ticket: without any the key would be gone, and the new one would have no TTL.
  if some_parked and added == 1 then sweep_parked() end
  return added == 1, not last
end

-- Both keys of the queue end at the same time, and somewhat later than they need to: so on a hot key few have to see to it.
local function keep_queue_for(patience, was_empty)
  local left = redis.call('PTTL', WAITERS)
  if left >= patience and not was_empty then return end
  left = integer(math.max(left, redis.call('PTTL', QUEUE), patience * 5 / 4))
  redis.call('PEXPIRE', QUEUE, left)
  redis.call('PEXPIRE', WAITERS, left)
end

-- When a waiter is to ask again: after its period, or when the leases end that stand in its way.
local function ask_time(holds, place, request)
  local free = free_at(holds, request)
  if not free then return now + request.period end
  return math.min(now + request.period, free + AFTER_END + math.min(place, MOST_PLACES) * PER_PLACE)
end
