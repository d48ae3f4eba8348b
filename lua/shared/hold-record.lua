-- How a hold stands in the state. Modes, in which way a lock is held: see shared/modes.lua.
local EXCLUSIVE = 'exclusive'

local function write_hold(hold)
  redis.call('HSET', STATE, hold.id, table.concat(
    { hold.mode, integer(hold.ends), integer(hold.token), integer(hold.since), hold.owner }, ' '))
end
