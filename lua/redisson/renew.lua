-- Renews the leases of many holds. A renewal never shortens a lease, and never creates a hold anew.
--
-- KEYS    locks
-- ARGV    for each lock: owner, lease in ms (0: as long as before); then the longest lease of a read lock in ms
-- Output  for each lock: ms left; -1: not held; -2: longer than a read lock may have; or the error of this lock, which does not
--         stop the others
--- @include "shared/read-write"
--- @include "shared/permits"
--- @include "shared/lengthen"

local NO_TTL = 2147483647
local longest = tonumber(ARGV[#ARGV])

local function renew(lock, owner, lease)
  if is_semaphore(lock) then return lengthen_permits(lock, owner, lease) end
  local key = lease_key(lock, owner)
  local left = key and redis.call('PTTL', key) or -2
  if left == -2 then return -1 end
  if key ~= lock and lease > longest then return -2 end
  -- A lock without a TTL stays without one if the client only looks: PEXPIRE would delete it.
  if left < 0 and lease == 0 then return NO_TTL end
  -- It also writes if the lease does not become longer: a write makes a former master find out that it is a replica.
  left = lengthen(key, lease)
  if key ~= lock then lengthen(lock, left) end
  return left
end

local replies = {}
for i, lock in ipairs(KEYS) do
  local worked, reply = pcall(renew, lock, ARGV[2 * i - 1], tonumber(ARGV[2 * i]))
  if not worked and type(reply) ~= 'table' then reply = { err = tostring(reply) } end
  -- The error of a replica concerns all locks. As the reply to the command it makes the client reconnect to the master.
  if not worked and string.find(reply.err, 'READONLY', 1, true) then return reply end
  replies[i] = reply
end
return replies
