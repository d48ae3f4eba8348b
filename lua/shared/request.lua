-- A request for the lock, as acquire, acquire-all and release carry it in ARGV. All times are in ms.
--
--   id
--   mode                    see shared/modes.lua
--   owner                   '': the id
--   lease
--   uncontended batch size  how many waiters of the client one grant serves while no other client waits, each with a token
--                           of its own; 0: a fair request, which is served alone and ends the batches of others
--   the rest, in one text:  rank in the queue to go on from (0 at first), whether it waits (0: no, 1: yes, 2: yes, and its
--                           client has just received a message), retry period, patience, grant timeout, batch size while
--                           other clients wait, age (ms since the request was made, for several masters; left out: the
--                           ticket goes to the end; 'ahead': the caller holds other keys, see shared/take-place.lua),
--                           'backed-off' if the age was reduced
--- @include "shared/clock"
--- @include "shared/reply-codes"
--- @include "shared/modes"

-- A request has this many elements.
local REQUEST_SIZE = 6

local function request_at(at)
  local id, owner = ARGV[at], ARGV[at + 2]
  local from, waits, period, patience, grant_timeout, batch_size, age, backed_off =
    string.match(ARGV[at + 5], '^(%d+) ([012]) (%d+) (%d+) (%d+) (%d+) ?(%S*) ?(.*)$')
  return with_mode({ id = id, owner = owner == '' and id or owner, lease = tonumber(ARGV[at + 3]),
    uncontended_batch_size = tonumber(ARGV[at + 4]), from = tonumber(from), waits = waits ~= '0', just_heard = waits == '2',
    period = tonumber(period), patience = tonumber(patience), grant_timeout = tonumber(grant_timeout),
    batch_size = tonumber(batch_size), age = tonumber(age), ahead = age == 'ahead', backed_off = backed_off ~= '' }, ARGV[at + 1])
end

-- { HELD or HELD_PUSHED, now, rank to go on from or -1, token, ms of lease left, batch size }, and how many permits a hold of
-- permits has
local function held(hold, code, more)
  return { code or HELD, now, more or -1, hold.token, hold.ends - now, hold.batch_size or 1, hold.units }
end
