-- Releases some of the permits of a hold: the hold keeps `units` of them. A hold never gets permits back, so a command that
-- arrives twice, late or in another order has no further effect.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 address, 2 hold id, 3 units to keep, 4 ms to keep the released permits taken (0: none)
-- Output  { units of the hold, or -1: not held, rank to go on from or -1 }
--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/hold"
--- @include "shared/holds"
--- @include "shared/grant-waiters"

local id, units, keep = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local holds = read_holds(id)
local hold = find_hold(holds, id)
if not hold or hold.status == STATUS_KEPT or hold.kind ~= PERMITS then return { -1, -1 } end
local released = hold.units - units
if released > 0 then
  local function mode_of(count) return PERMITS .. ':' .. integer(count) .. '/' .. integer(hold.limit) end
  drop_expired(holds)
  keep_state_for(holds, hold) -- before the other writes: Redis refuses only the first write of a script for lack of memory
  hold.units, hold.mode = units, mode_of(units)
  if hold.status == STATUS_PUSHED then hold.status = STATUS_HELD end
  holds.sums.units = holds.sums.units - released
  if holds.is_many then write_sums(holds.sums, '+' .. id, text_of(hold)) else write_hold(holds, hold) end
  if keep > 0 then
    -- Under a name of its own: neither a duplicate nor the release of the rest ends it.
    add_hold(holds, with_mode({ id = id .. '/kept' .. integer(units), status = STATUS_KEPT, owner = hold.owner,
      token = hold.token, since = hold.since, ends = now + keep }, mode_of(released)))
  end
end
return { hold.units, (grant_waiters(holds, nil, 0)) }
