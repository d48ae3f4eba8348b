-- The six keys of a lock. They share a slot, and each has a TTL whenever it exists.
local STATE   -- hash: hold id -> "mode ends token since owner"; its TTL is the longest lease
local QUEUE   -- sorted set: ticket id -> place
local WAITERS -- hash: ticket id -> "mode ask-at stale-at lease grant-timeout turns owner"; 'fair' -> id of the last fair one
local FENCE   -- string: the last fencing token
local GONE    -- sorted set: acquisition id that has left before it came -> until when that is remembered
local LIMIT   -- string: the number of permits, where it was set at run time

-- What follows is about the lock whose keys are the `place`-th six.
local function use_lock(place)
  STATE, QUEUE, WAITERS, FENCE, GONE, LIMIT = unpack(KEYS, 6 * place - 5, 6 * place)
end
use_lock(1)
