-- Refuses data of another layout. The layout is which keys a lock has, and what their values mean.
--
-- Layouts 1 and 2 write no mark: the values of each have a form that the other one refuses. Every later layout writes its
-- number into the field 'layout' of each hash (state, waiters, latch). A script that finds another layout refuses to go on,
-- before it has written anything that other clients could see.

-- The version of the layout in Redis that this package reads and writes.
--- @export
local LAYOUT = 2

-- Raises an error if a hash belongs to another layout. `found`: the layout that it names or has, or false.
local function assert_layout(found)
  if found then error('LOCKLAYOUT found ' .. found .. ', expected ' .. LAYOUT) end
end
