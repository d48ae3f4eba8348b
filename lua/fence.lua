-- Raises the fencing token of a hold that stands on several masters, so that the next holder's is larger on each of them.
--
-- KEYS  state, queue, waiters, fence, gone, limit
-- ARGV  1 hold id, 2 token, 3 how many tokens from that one on nobody else is to get
-- Reply 1, ms left: the token is the hold's now; or 0, ms left, last token: somebody has had this one or a larger one;
--       or -1: it is not held; the tokens are nobody else's here all the same
--
-- May arrive twice or late: a token never falls, and one that a hold has already is told again.
--- @include "shared/keys"
--- @include "shared/clock"
--- @include "shared/token"
--- @include "shared/modes"
--- @include "shared/holds"

local token = tonumber(ARGV[2])
local last_of_all = token + ARGV[3] - 1
local hold = find_hold(read_holds(), ARGV[1])
local last = last_token()
if not hold or hold.kept then
  if last < last_of_all then remember_token(last_of_all, 0) end
  return { -1 }
end
local left = hold.ends - now
if last >= token and not (hold.token == token and last <= last_of_all) then return { 0, left, last } end

remember_token(last_of_all, left)
if hold.token ~= token then
  hold.token = token
  write_hold(hold)
end
return { 1, left }
