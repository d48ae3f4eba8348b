-- The queue: tickets in the order in which they came.

-- A waiter asks this long after the end of a lease that stands in its way, and later the farther back it is.
local AFTER_END, PER_PLACE, MOST_PLACES = 2, 10, 100

local function write_ticket(ticket)
  redis.call('HSET', WAITERS, ticket.id, table.concat(
    { ticket.mode, integer(ticket.ask_at), integer(ticket.stale_at), integer(ticket.lease),
      integer(ticket.grant_timeout), integer(ticket.turns), ticket.owner }, ' '))
end

local function read_ticket(id)
  local text = redis.call('HGET', WAITERS, id)
  if not text then return nil end
  local mode, ask_at, stale_at, lease, grant_timeout, turns, owner =
    string.match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (.+)$')
  return with_mode({ id = id, ask_at = tonumber(ask_at), stale_at = tonumber(stale_at),
    lease = tonumber(lease), grant_timeout = tonumber(grant_timeout), turns = tonumber(turns), owner = owner }, mode)
end

-- Remembers that somebody waits who is to be served in the order in which all came: the last one who came.
local function note_fair(id, is_new)
  redis.call(is_new and 'HSET' or 'HSETNX', WAITERS, 'fair', id)
end

-- Whether there is such a one anywhere in the queue.
local function fair_waits()
  return redis.call('HEXISTS', WAITERS, 'fair') == 1
end

local function drop_ticket(id)
  redis.call('HDEL', WAITERS, id)
  if redis.call('HGET', WAITERS, 'fair') == id then redis.call('HDEL', WAITERS, 'fair') end
  return redis.call('ZREM', QUEUE, id)
end

-- Takes a place at the end, or keeps the one that it has. A request with an age takes the place of somebody who came so
-- long ago, so that several masters have the same order. Its old ticket goes first: a write that Redis takes also when
-- its memory is full, and then it takes the new one. Where foreign data stand in the way nothing has been written yet.
-- Answers whether it had none.
local function take_place(request)
  local id, age = request.id, request.age
  redis.call('HEXISTS', WAITERS, id)
  local is_new = not redis.call('ZSCORE', QUEUE, id)
  if not is_new then redis.call('HDEL', WAITERS, id) end
  if age then
    redis.call('ZADD', QUEUE, integer(now_micros - age * 1000), id)
  elseif is_new then
    local last = redis.call('ZREVRANGE', QUEUE, 0, 0, 'WITHSCORES')
    redis.call('ZADD', QUEUE, (tonumber(last[2]) or 0) + 1, id)
  end
  return is_new
end

local function keep_queue_for(patience)
  for _, key in ipairs({ QUEUE, WAITERS }) do
    redis.call('PEXPIRE', key, integer(math.max(redis.call('PTTL', key), patience)))
  end
end

-- When a waiter is to ask again: after its period, or when the leases end that stand in its way.
local function ask_time(holds, place, request)
  local free = free_at(holds, request)
  if not free then return now + request.period end
  return math.min(now + request.period, free + AFTER_END + math.min(place, MOST_PLACES) * PER_PLACE)
end
