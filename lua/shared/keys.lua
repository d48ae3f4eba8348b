-- The six keys of a lock. They share a slot, and each has a TTL whenever it exists.
local STATE = KEYS[1]   -- hash: hold id -> "mode ends token since owner"; its TTL is the longest lease
local QUEUE = KEYS[2]   -- sorted set: ticket id -> place
local WAITERS = KEYS[3] -- hash: ticket id -> "mode ask-at stale-at lease grant-timeout turns owner"; 'fair' -> how many are fair;
                        -- 'passed' -> clients that are passed over
local FENCE = KEYS[4]   -- string: the last fencing token
local GONE = KEYS[5]    -- sorted set: acquisition id that has left before it came -> until when that is remembered
local LIMIT = KEYS[6]   -- string: "permits version", where the number of permits was set at run time
