-- The seven keys of a lock. They share a Cluster slot, and each has a TTL whenever it exists.
--
-- The generator reads the roles and their order from this file: `LOCK_KEY_ROLES` in TypeScript.
local STATE = KEYS[1]      -- hash: the holds (shared/holds.lua); its TTL is the longest lease, or longer
local QUEUE = KEYS[2]      -- sorted set: ticket id -> place
local WAITERS = KEYS[3]    -- hash: ticket id -> 'since mode retry-at stale-at lease grant-timeout batch-size owner';
                           -- 'fair' -> number of fair tickets; 'passed' -> clients that are passed over
local FENCE = KEYS[4]      -- string: the last fencing token
local TOMBSTONES = KEYS[5] -- sorted set: id of an acquisition that was abandoned or revoked -> end of the tombstone
local LIMIT = KEYS[6]      -- string: 'permits version', if the number of permits was set at run time
local ENDS = KEYS[7]       -- sorted set: hold id -> a time before which its lease does not end (shared/ends.lua)
