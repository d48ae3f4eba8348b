-- Grants the lock to the head of the queue, and to every further waiter that the holds admit. Every script that may free
-- the lock ends here, so a lock is never free while a client waits. The script writes all grants to the state before it
-- publishes the first message.
--- @include "shared/messages"
--- @include "shared/clock"
--- @include "shared/modes"
--- @include "shared/holds"
--- @include "shared/admission"
--- @include "shared/grant"
--- @include "shared/queue"
--- @include "shared/parked"
--- @include "shared/retry-time"

-- A script looks at this many tickets at most, and grants to this many, so that it blocks Redis for a millisecond at most.
-- Its reply says where to go on.
local MAX_TICKETS, MAX_GRANTS = 32, 15
-- A script reads this many tickets at a time: mostly it grants the first, and the second becomes the head.
local TICKETS_PER_READ = 2
-- A head that retries within this many ms after the end of the lease that blocks it needs no message.
local HEAD_RETRY_SLACK = 1000

-- `asker` gets its grant as the reply instead of a message, so it need not be subscribed. Returns the rank to go on from
-- (-1: the script has looked at all tickets), and the first ticket that only the holds keep from a grant. `tell_first`
-- publishes what clients must receive before the grants; its argument is the id of the first grant, or nil.
--
-- A ticket that asks for more permits than exist is dropped: it could never be granted, and would block the queue.
local function grant_waiters(holds, asker, from, tell_first)
  drop_expired(holds)

  local absent = {}
  local function can_take_grant(id)
    if id == asker then return true end
    local client = client_of(id)
    if absent[client] == nil then absent[client] = is_absent(id) end
    return not absent[client]
  end

  local granted, refused, head = {}, {}, nil -- granted: including the hold of the asker
  local function grant_to(ticket)
    drop_ticket(ticket.id, ticket.batch_size)
    local pushed = ticket.id ~= asker
    local lease = pushed and math.min(ticket.lease, ticket.grant_timeout) or ticket.lease
    granted[#granted + 1] = grant(holds, ticket, lease, ticket.batch_size, pushed)
  end
  local owners_may_follow = false
  local rank, looked, more = from, 0, -1 -- rank: of the next ticket, not counting dropped ones
  local tickets, some_fair = {}, nil -- some_fair: at the first look; nil: not known

  while true do
    if #tickets == 0 then
      local fair
      tickets, fair = read_tickets(rank, TICKETS_PER_READ)
      if looked == 0 then some_fair = fair end
    end
    local ticket = table.remove(tickets, 1)
    if not ticket then break end
    if looked == MAX_TICKETS or not head and #granted == MAX_GRANTS then
      -- The next script would not know the head, which blocks the queue. Owners that may follow retry by themselves.
      if not head then more = rank end
      break
    end
    looked = looked + 1

    local id = ticket.id
    if ticket.stale_at <= now or find_hold(holds, id) then
      drop_ticket(id, ticket.batch_size)
    elseif exceeds_limit(ticket) then
      drop_ticket(id, ticket.batch_size)
      refused[#refused + 1] = id
    elseif head and not reenters(holds, ticket) then
      rank = rank + 1 -- behind the head
    elseif not admits(holds, ticket) and (is_closed(holds) or can_take_grant(id)) then
      head = ticket -- it blocks the tickets behind it
      -- Another request of an owner that was just granted passes the queue: the first hold may wait for it.
      if not owners_may_follow then break end
      rank = rank + 1
    elseif not can_take_grant(id) then
      park(id) -- the ticket keeps its place until it is stale: after a failover every client is absent for a moment
    else
      grant_to(ticket)
      owners_may_follow = owners_may_follow or ticket.owner ~= id
    end
  end
  -- Tickets are parked in favour of other clients only. A lock that no other client wants is granted to them.
  if holds.sums.holds == 0 and not head and more < 0 then
    for _, ticket in ipairs(read_parked()) do
      if holds.sums.holds == 0 and ticket.stale_at > now and is_present(ticket.id) and admits(holds, ticket) then grant_to(ticket) end
    end
  end

  if tell_first then tell_first(granted[1] and granted[1].id) end
  local single_grants = #granted > 0 and some_fair ~= false and fair_waits()
  for _, hold in ipairs(granted) do
    if single_grants then
      hold.batch_size = 1
      -- Other readers of the client would join, and overtake the fair request.
      if hold.kind == READ then publish_yield(hold.id) end
    end
    if hold.id ~= asker then publish_granted(hold) end
  end
  -- The reply to the retry says why.
  for _, id in ipairs(refused) do publish_retry(id, 0) end
  local free = head and free_at(holds, head)
  if free and head.id ~= asker and head.retry_at > free + HEAD_RETRY_SLACK then
    head.retry_at = free + RETRY_AFTER_EXPIRY
    write_ticket(head)
    publish_retry(head.id, head.retry_at - now)
  end
  if holds.has_more and more < 0 then more = from end
  return more, head
end
