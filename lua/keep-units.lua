-- Releases some of the permits of a hold: the hold keeps `units` of them. A hold never gets permits back, so a command that
-- arrives twice, late or in another order has no further effect.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit
-- ARGV    1 address, 2 hold id, 3 units to keep, 4 ms to keep the released permits taken (0: none)
-- Output  { units of the hold, or -1: not held, rank to go on from or -1 }
--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/grant-waiters"

local id, units, keep = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local holds, ended = read_holds()
local hold = find_hold(holds, id)
if not hold or hold.kept or hold.kind ~= PERMITS then return { -1, -1 } end
local released = hold.units - units
if released > 0 then
  local function mode_of(count) return PERMITS .. ':' .. integer(count) .. '/' .. integer(hold.limit) end
  local crowd = holds.crowd
  if crowd then crowd.remove(hold) end
  hold.units, hold.mode, hold.pushed = units, mode_of(units), nil
  if crowd then crowd.add(hold) end
  set_state_ttl(holds, hold) -- before the other writes: Redis refuses only the first write of a script for lack of memory
  write_hold(hold)
  if keep > 0 then
    -- Under a name of its own: neither a duplicate nor the release of the rest ends it.
    local kept = with_mode({ id = id .. '/kept' .. integer(units), owner = hold.owner, token = hold.token,
      since = hold.since, ends = now + keep }, KEPT .. mode_of(released))
    add_hold(holds, kept)
    set_state_ttl(holds, kept)
  end
end
return { hold.units, grant_waiters(holds, ended, nil, 0) or -1 }
