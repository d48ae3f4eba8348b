-- The first element of every reply to a request for the lock.
--
-- QUEUED_UNSUBSCRIBED: queued, and no client subscribes to the channel on which the grant would be published.
-- HELD_PUSHED: held, and a message has announced the grant before.
--- @export
local QUEUED, HELD, BUSY, LEFT, UPGRADE, QUEUED_UNSUBSCRIBED, HELD_PUSHED, TOO_MANY = 0, 1, 2, 3, 4, 5, 6, 7
