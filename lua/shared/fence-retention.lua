-- The last fencing token of a key stays in Redis for this many ms after the lease.
--- @export
local FENCE_RETENTION = 600000
