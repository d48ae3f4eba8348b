-- Releases a hold, or gives up a place in the queue, whichever the acquisition has. Sends the request of the next local
-- waiter of the same client in the same step.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit
-- ARGV    1 address (shared/messages.lua), 2 acquisition id,
--         3 in one text: ms to keep a tombstone in case the acquire command is still on its way (0: no tombstone),
--           ms to keep the lock taken (0: none), rank in the queue to go on from (0 at first),
--         4-9 request of the next waiter, if there is one (shared/request.lua)
-- Output  1: it was held, no request came with the command, and no client waits; or else
--         { 1: it was held, or 0, rank to go on from or -1, then the reply to the request, if there was one }
--
-- Redis accepts the first write even if its memory is full, and then also the others.
--- @include "shared/keys"

-- The common case, before Redis runs the rest of the script: the lock was held, and no client waits.
local id, plainly = ARGV[2], ARGV[3] == '0 0 0'
local kept = not plainly and redis.call('HGET', STATE, id)
local released = redis.call('HDEL', STATE, id)
if released == 1 and plainly and not ARGV[4] and redis.call('EXISTS', STATE, QUEUE) == 0 then return 1 end

local tombstone_for, keep, from = string.match(ARGV[3], '^(%d+) (%d+) (%d+)$')
tombstone_for, keep, from = tonumber(tombstone_for), tonumber(keep), tonumber(from)

--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/hold"
--- @include "shared/holds"
--- @include "shared/queue"
--- @include "shared/grant-waiters"

local gone = released == 1 and id or nil
if kept and keep > 0 then
  -- Under a name of its own: a duplicate of the release does not end it.
  local hold = read_hold(id .. '/kept', kept)
  hold.mode, hold.kept, hold.ends, hold.pushed, hold.alone = KEPT .. hold.mode, true, now + keep, nil, nil
  local holds = read_holds(gone)
  add_hold(holds, hold)
  set_state_ttl(holds, hold)
  gone = nil
end

if released == 0 or tombstone_for > 0 then
  drop_ticket(id)
end
if tombstone_for > 0 then
  --- @include "shared/tombstones"
  write_tombstone(id, tombstone_for)
end

if ARGV[4] then
  --- @include "shared/request"
  --- @include "shared/try-acquire"
  return { released, -1, unpack(try_acquire(request_at(4), true, gone)) }
end
local holds, ended = read_holds(gone)
set_state_ttl(holds)
return { released, grant_waiters(holds, ended, nil, from) or -1 }
