-- The version of the layout: which keys a lock has, and what their values mean.
--
-- Layout 1 writes no mark. Every other layout writes its number into the field 'layout' of each hash (state, waiters,
-- latch). A script that finds the field refuses to go on, before it has written anything that other clients could see.

-- The version of the layout in Redis that this package reads and writes.
--- @export
local LAYOUT = 1

-- Raises an error if a hash belongs to another layout. `found`: its field 'layout', or false.
local function assert_layout(found)
  if found then error('LOCKLAYOUT found ' .. found .. ', expected ' .. LAYOUT) end
end
