-- Parks the tickets of clients that do not take their grants: a client that is not subscribed, or that has let a pushed
-- grant expire and so is passed over. Each of its tickets that a script meets moves behind the queue, where no grant looks.
-- So a dead client costs nothing after the first look. When the client retries, it gets its places back.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/messages"
--- @include "shared/queue"

-- A request for a place looks at this many parked tickets, and drops the stale ones.
--- @export
local PARKED_SWEPT = 10
-- A client that retries finds its other tickets among this many parked ones.
--- @export
local PARKED_SEARCHED = 300
-- The field 'passed' of the waiters names the clients that are passed over. It has this many characters at most, enough for
-- the last hundred clients.
local PASSED_LENGTH = 4000

-- Parks a ticket. It keeps its place for the time when its client retries.
local function park(id)
  redis.call('ZADD', QUEUE, integer(redis.call('ZSCORE', QUEUE, id) + PARKED), id)
end

-- Notes clients, each followed by a space, whose tickets are to be parked.
local function pass_over(clients)
  local passed = (redis.call('HGET', WAITERS, 'passed') or '') .. clients
  redis.call('HSET', WAITERS, 'passed', string.sub(passed, -PASSED_LENGTH))
end

-- A client has retried: it is no longer passed over. `passed`: the names so far.
local function no_longer_passed_over(passed, client)
  passed = string.gsub(passed, client .. ' ', '')
  if passed == '' then redis.call('HDEL', WAITERS, 'passed') else redis.call('HSET', WAITERS, 'passed', passed) end
end

-- Gives the ticket of a client that has retried its old place back, and the other tickets of the client.
local function unpark(id)
  local client = client_of(id)
  local parked = redis.call('ZRANGE', QUEUE, integer(PARKED), '+inf', 'BYSCORE', 'LIMIT', 0, PARKED_SEARCHED, 'WITHSCORES')
  local own = tonumber(redis.call('ZSCORE', QUEUE, id))
  redis.call('ZADD', QUEUE, integer(own - PARKED), id)
  for i = 1, #parked, 2 do
    if parked[i] ~= id and client_of(parked[i]) == client then
      redis.call('ZADD', QUEUE, integer(parked[i + 1] - PARKED), parked[i])
    end
  end
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
