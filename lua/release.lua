-- Gives back a hold, or a place in the queue, whichever the acquisition has by now; and asks for the next local waiter
-- of the same client in the same step.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 channel prefix, 2 key, 3 place to go on from (0 at first), 4 acquisition id,
--       5 ms to remember that it has left, should its acquire still be on the way (0: not at all),
--       6 ms to keep the lock yet (0: none), 7… request of the next waiter, if there is one (see shared/request.lua),
--       15 ms since that one came, for its place in the queue (left out: at the end)
-- Reply 1 or 0: it was held or not; place to go on from or -1; then the reply to the request, if there was one
--
-- The first write is one that Redis takes also when its memory is full, and then it takes the others.
local CHANNELS, KEY = ARGV[1], ARGV[2]
--- @include "shared/keys"

-- The common case first, before the rest of the script is even looked at: it was held, and nobody waits.
local id, remember, keep = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local kept = keep > 0 and redis.call('HGET', STATE, id)
local released = redis.call('HDEL', STATE, id)
if released == 1 and remember == 0 and not kept and not ARGV[7] and redis.call('EXISTS', STATE, QUEUE) == 0 then
  return { 1, -1 }
end

--- @include "shared/replies"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/request"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/settle"
--- @include "shared/ask"

if kept then
  -- Under a name of its own: a leave that comes late or twice does not end it.
  local hold = read_hold(id .. '/kept', kept)
  hold.mode, hold.ends = KEPT .. hold.mode, now + keep
  write_hold(hold)
  set_state_ttl((read_holds()))
end

local function leave()
  drop_ticket(id)
  if remember == 0 then return end
  redis.call('ZREMRANGEBYSCORE', GONE, '-inf', integer(now))
  redis.call('ZADD', GONE, integer(now + remember), id)
  redis.call('PEXPIRE', GONE, integer(math.max(redis.call('PTTL', GONE), remember)))
end
if released == 0 or remember > 0 then leave() end

if ARGV[7] then
  local request = request_at(7)
  request.age = tonumber(ARGV[15])
  local reply = ask(request, tonumber(ARGV[3]))
  return { released, -1, unpack(reply) }
end
if redis.call('EXISTS', STATE, QUEUE) == 0 then return { released, -1 } end
local holds, ended = read_holds()
set_state_ttl(holds)
return { released, settle(holds, ended, nil, tonumber(ARGV[3])) or -1 }
