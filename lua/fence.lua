-- Raises the fencing token of a hold that several masters have, so that the token of the next holder is larger on each.
-- A token never falls. A command that arrives twice or late has no further effect.
--
-- KEYS    1 state, 2 queue, 3 waiters, 4 fence, 5 tombstones, 6 limit, 7 ends
-- ARGV    1 hold id, 2 token, 3 number of tokens to reserve, from that one on
-- Output  { 1, ms left }: the hold has the token
--         { 0, ms left, last token }: another hold had this token or a larger one
--         { -1 }: not held; the tokens are still reserved
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/hold"
--- @include "shared/holds"

local token = tonumber(ARGV[2])
local last_of_all = token + ARGV[3] - 1
local holds = read_holds(ARGV[1])
local hold = find_hold(holds, ARGV[1])
local last = last_token()
if not hold or hold.status == STATUS_KEPT then
  if last < last_of_all then remember_token(last_of_all, 0) end
  return { -1 }
end
local left = hold.ends - now
if last >= token and not (hold.token == token and last <= last_of_all) then return { 0, left, last } end

remember_token(last_of_all, left)
if hold.token ~= token then
  hold.token = token
  write_hold(holds, hold)
end
return { 1, left }
