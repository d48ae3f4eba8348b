-- Gives back a hold, or a place in the queue, whichever the acquisition has by now; and asks for the next local waiter
-- of the same client in the same step.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 address (see shared/messages.lua), 2 acquisition id,
--       3 in one text: ms to remember that it has left, should its acquire still be on the way (0: not at all),
--         ms to keep the lock yet (0: none), place in the queue to go on from (0 at first),
--       4… request of the next waiter, if there is one (see shared/request.lua)
-- Reply 1: it was held, and that is all; or else { 1 or 0: it was held or not, place to go on from or -1, then the reply
--       to the request, if there was one }
--
-- The first write is one that Redis takes also when its memory is full, and then it takes the others.
--- @include "shared/keys"

-- The common case first, before the rest of the script is even looked at: it was held, and nobody waits.
local id, plainly = ARGV[2], ARGV[3] == '0 0 0'
local kept = not plainly and redis.call('HGET', STATE, id)
local released = redis.call('HDEL', STATE, id)
if released == 1 and plainly and not ARGV[4] and redis.call('EXISTS', STATE, QUEUE) == 0 then return 1 end

local remember, keep, from = string.match(ARGV[3], '^(%d+) (%d+) (%d+)$')
remember, keep, from = tonumber(remember), tonumber(keep), tonumber(from)

--- @include "shared/replies"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/request"
--- @include "shared/messages"
--- @include "shared/queue"
--- @include "shared/settle"
--- @include "shared/gone"
--- @include "shared/ask"

if kept and keep > 0 then
  -- Under a name of its own: a leave that comes late or twice does not end it.
  local hold = read_hold(id .. '/kept', kept)
  hold.mode, hold.ends, hold.pushed = KEPT .. hold.mode, now + keep, nil
  write_hold(hold)
  set_state_ttl((read_holds()))
end

local function leave()
  drop_ticket(id)
  if remember > 0 then remember_left(id, remember) end
end
if released == 0 or remember > 0 then leave() end

if ARGV[4] then return { released, -1, unpack(ask(request_at(4), true)) } end
local holds, ended = read_holds()
set_state_ttl(holds)
return { released, settle(holds, ended, nil, from) or -1 }
