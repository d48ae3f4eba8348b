-- Releases a hold, or gives up a place in the queue, whichever the acquisition has. Sends the request of the next local
-- waiter of the same client in the same step.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 address (shared/messages.lua), 2 acquisition id,
--         3 in one text: ms to keep a tombstone in case the acquire command is still on its way (0: no tombstone),
--           ms to keep the lock taken (0: none), rank in the queue to go on from (0 at first),
--         4-9 request of the next waiter, if there is one (shared/request.lua)
-- Output  1: it was held, no request came with the command, and no client waits; or else
--         { 1: it was held, or 0, rank to go on from or -1 }, or with a request { 1 or 0, the reply to it (acquire.lua) ... }
--
-- Redis accepts the first write even if its memory is full, and then also the others.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/hold"
--- @include "shared/holds"
--- @include "shared/queue"
--- @include "shared/records"
--- @include "shared/request"
--- @include "shared/grant"
--- @include "shared/try-acquire"
--- @include "shared/grant-waiters"

-- The common case, before Redis runs the rest of the script: the only hold is released, and no client waits.
local id, plainly, sends_next = ARGV[2], ARGV[3] == '0 0 0', ARGV[4] ~= nil
local text = not plainly and redis.call('HGET', STATE, id)
local released = redis.call('HDEL', STATE, id)
if released == 1 and plainly and not sends_next and redis.call('EXISTS', STATE, QUEUE) == 0 then return 1 end

local tombstone_for, keep, from = string.match(ARGV[3], '^(%d+) (%d+) (%d+)$')
tombstone_for, keep, from = tonumber(tombstone_for), tonumber(keep), tonumber(from)

local holds = read_sums(id)
local hold = text and read_hold(id, text)
if released == 0 then
  local live, expired = find_hold(holds, id)
  hold = live or expired
  if expired then expired.status = STATUS_HELD end -- its client has not let it expire
  if live then remove_hold(holds, live) else drop_expired(holds) end
  if hold then released = 1 end
end
if plainly and not sends_next and released == 1 and redis.call('EXISTS', QUEUE) == 0 then return 1 end
find_expired(holds)
if hold and keep > 0 then
  -- Under a name of its own: a duplicate of the release does not end it.
  hold.id, hold.status, hold.ends = id .. '/kept', STATUS_KEPT, now + keep
  add_hold(holds, hold)
end

if released == 0 or tombstone_for > 0 then drop_ticket(id) end
if tombstone_for > 0 then write_record(TOMBSTONES, id, tombstone_for) end
if sends_next then
  local request = request_at(4)
  return { released, unpack(grant_at_once(holds, request) or try_acquire(holds, request, true)) }
end
return { released, (grant_waiters(holds, nil, from)) }
