-- Messages to all connections of a client: about its holds and its latches.
--- @include "shared/clock"
--- @include "shared/client"
--- @include "shared/messages"

-- Whether the client of a hold receives the message that the hold was revoked. In a Cluster it goes over the bus.
local function receives_revocation(id)
  return TAG ~= nil or is_present(id)
end

local function publish_to_client(id, ...)
  call_if_known('PUBLISH', BUS .. client_of(id), table.concat({ ... }, ' '))
end

local function publish_revoked(hold, by)
  publish_to_client(hold.id, 'revoked', hold.id, integer(hold.token), by, KEY)
end

-- Has a holder end its batch: another client waits that must not wait for the whole batch.
local function publish_yield(id)
  publish_to_client(id, 'yield', id, KEY)
end

local function publish_opened(client, latch)
  publish_to_client(client, 'opened', latch, KEY)
end
