-- The seven keys of a lock. They share a Cluster slot, and each has a TTL whenever it exists.
--
-- The generator reads the roles and their order from this file: `LOCK_KEY_ROLES` in TypeScript.
local STATE = KEYS[1]      -- hash: the holds (shared/holds.lua); its TTL is the longest lease, or longer
local QUEUE = KEYS[2]      -- sorted set: ticket id -> place
local WAITERS = KEYS[3]    -- hash: ticket id -> 'since mode retry-at stale-at lease grant-timeout batch-size owner';
                           -- 'fair' -> number of fair tickets
local FENCE = KEYS[4]      -- string: the last fencing token
local TOMBSTONES = KEYS[5] -- sorted set: id of an acquisition, client or call (shared/records.lua) -> end of the tombstone
local LIMIT = KEYS[6]      -- string: 'permits version', if the number of permits was set at run time
local ENDS = KEYS[7]       -- sorted set: hold id -> a time before which its lease does not end (shared/ends.lua)

-- The version of the layout in Redis that this package reads and writes.
--- @export
local LAYOUT = 2

-- Layouts 1 and 2 write no mark: the values of each have a form that the other one refuses. Every later layout writes its
-- number into the field 'layout' of each hash (state, waiters, latch). A script that finds another layout refuses to go on,
-- before it has written anything that other clients could see.
--
-- Raises an error if a hash belongs to another layout. `found`: the layout that it names or has, or false.
local function assert_layout(found)
  if found then error('LOCKLAYOUT found ' .. found .. ', expected ' .. LAYOUT) end
end
