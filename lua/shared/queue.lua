-- The queue: tickets in the order in which they came.

-- A waiter asks this long after the end of a lease that stands in its way, and later the farther back it is.
local AFTER_END, PER_PLACE, MOST_PLACES = 2, 10, 100

local function write_ticket(ticket)
  redis.call('HSET', WAITERS, ticket.id, string.format('%s %.0f %.0f %.0f %.0f %.0f %s', ticket.mode, ticket.ask_at,
    ticket.stale_at, ticket.lease, ticket.grant_timeout, ticket.turns, ticket.owner))
end

-- A place without a ticket is stale.
local function read_ticket(id, text)
  if not text then return { id = id, stale_at = 0 } end
  local mode, ask_at, stale_at, lease, grant_timeout, turns, owner =
    string.match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (.+)$')
  return with_mode({ id = id, ask_at = tonumber(ask_at), stale_at = tonumber(stale_at),
    lease = tonumber(lease), grant_timeout = tonumber(grant_timeout), turns = tonumber(turns), owner = owner }, mode)
end

-- So many tickets in turn, from a place on; fewer at the end of the queue.
local function read_tickets(place, count)
  local ids = redis.call('ZRANGE', QUEUE, place, place + count - 1)
  if #ids == 0 then return ids end
  local texts = redis.call('HMGET', WAITERS, unpack(ids))
  local tickets = {}
  for i, id in ipairs(ids) do tickets[i] = read_ticket(id, texts[i]) end
  return tickets
end

-- Remembers that somebody waits who is to be served in the order in which all came: the last one who came.
local function note_fair(id, is_new)
  redis.call(is_new and 'HSET' or 'HSETNX', WAITERS, 'fair', id)
end

-- Whether there is such a one anywhere in the queue.
local function fair_waits()
  return redis.call('HEXISTS', WAITERS, 'fair') == 1
end

-- `turns`: its own, where they are known; only a fair one has none.
local function drop_ticket(id, turns)
  redis.call('HDEL', WAITERS, id)
  if (turns or 0) == 0 and redis.call('HGET', WAITERS, 'fair') == id then redis.call('HDEL', WAITERS, 'fair') end
  return redis.call('ZREM', QUEUE, id)
end

-- Takes a place at the end, or keeps the one that it has. A request with an age takes the place of somebody who came so
-- long ago, so that several masters have the same order; asking again it keeps the one that it has, as the way may have
-- taken longer this time, but for one that has made itself younger. Its old ticket goes first: a write that Redis takes
-- also when its memory is full, and then it takes the new one. Where foreign data stand in the way nothing has been
-- written yet.
-- Answers whether it had none, and whether nobody had one.
local function take_place(request)
  local id, age = request.id, request.age
  local last = redis.call('ZREVRANGE', QUEUE, 0, 0, 'WITHSCORES')[2]
  if redis.call('HEXISTS', WAITERS, id) == 1 then redis.call('HDEL', WAITERS, id) end
  local added
  if age then
    local place = integer(now_micros - age * 1000)
    added = request.younger and redis.call('ZADD', QUEUE, place, id) or redis.call('ZADD', QUEUE, 'LT', place, id)
  else
    added = redis.call('ZADD', QUEUE, 'NX', (tonumber(last) or 0) + 1, id)
  end
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
