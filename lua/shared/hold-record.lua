-- How a hold stands in the state. Modes, in which way a lock is held: see shared/modes.lua.
local EXCLUSIVE = 'exclusive'

local function write_hold(hold)
  redis.call('HSET', STATE, hold.id,
    string.format('%s %.0f %.0f %.0f %s', hold.mode, hold.ends, hold.token, hold.since, hold.owner))
end
