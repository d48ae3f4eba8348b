-- Settle: what ask, leave, release, extension and force-release all end in. Grants to the head of the queue, and on to
-- everybody whom the holds admit, so that a lock is never free while somebody waits. A ticket that asks for more permits
-- than there are is dropped: it could never be granted, and would stop all behind it. The grants are in the state
-- before anybody is told, and telling is the last thing that happens.

-- No script looks at more tickets than this; the answer says where to go on.
local MOST_TICKETS = 100
-- So many are read at a time: mostly the first gets in, and the second becomes the head.
local TICKETS_READ = 2
-- So many parked tickets are looked at when nobody else can be granted.
local PARKED_READ = 3
-- A head that asks this long after the first lease before it ends need not be told.
local HEAD_SLACK = 1000

-- `asker` is known to be there, and gets its grant as the reply instead of a message. Returns where to go on when
-- there is more to look at, and the first ticket that nothing but the holds keeps out.
local function settle(holds, ended, asker, from)
  local passed = drop_ended(ended, asker) -- clients that are passed over

  local present = {}
  local function is_there(id)
    local channel = channel_of(id)
    if present[channel] == nil then
      present[channel] = id == asker or not string.find(passed, client_of(id), 1, true) and is_present(id)
    end
    return present[channel]
  end

  local granted, refused, head = {}, {}, nil -- granted: the asker's hold, too
  local function grant_to(ticket)
    drop_ticket(ticket.id, ticket.turns)
    local pushed = ticket.id ~= asker
    local lease = pushed and math.min(ticket.lease, ticket.grant_timeout) or ticket.lease
    granted[#granted + 1] = grant(holds, ticket, lease, ticket.turns, pushed)
  end
  local owners_may_follow = false
  local place, looked, more = from, 0, nil -- place: of the next ticket, once those that are dropped have gone
  local tickets = {}

  while true do
    if #tickets == 0 then
      local noted
      tickets, noted = read_tickets(place, TICKETS_READ)
      if looked == 0 and #tickets > 0 then
        if passed ~= '' then pass_over(passed) end
        passed = noted .. passed
      end
    end
    local ticket = table.remove(tickets, 1)
    if not ticket then break end
    if looked == MOST_TICKETS then
      -- Who goes on from there would not know that somebody stops all behind it. Owners who may follow ask by themselves.
      if not head then more = place end
      break
    end
    looked = looked + 1

    local id = ticket.id
    if ticket.stale_at <= now or find_hold(holds, id) then
      drop_ticket(id, ticket.turns)
    elseif exceeds_limit(ticket) then
      drop_ticket(id, ticket.turns)
      refused[#refused + 1] = id
    elseif head and not reenters(holds, ticket) then
      place = place + 1 -- in turn
    elseif not admits(holds, ticket) then
      -- It stops those behind it, unless they could come in and it is not there to.
      if is_closed(holds) or is_there(id) then
        head = ticket
        -- Another hold of an owner that has just got in passes those who wait: it may be what the first one needs.
        if not owners_may_follow then break end
      end
      place = place + 1
    elseif not is_there(id) then
      park(id) -- it keeps its place until it is stale: after a failover everybody is absent for a moment
    else
      grant_to(ticket)
      owners_may_follow = owners_may_follow or ticket.owner ~= id
    end
  end
  -- Those who are passed over are so in favour of others, not of a lock that nobody has.
  if #holds == 0 and not head and not more then
    for _, ticket in ipairs(read_parked(PARKED_READ)) do
      if #holds == 0 and ticket.stale_at > now and is_present(ticket.id) and admits(holds, ticket) then grant_to(ticket) end
    end
  end
  if passed ~= '' then forget_passed() end

  local one_turn = #granted > 0 and fair_waits()
  for _, hold in ipairs(granted) do
    if one_turn then hold.turns = 1 end
    if hold.id ~= asker then tell_granted(hold) end
  end
  -- The answer to their question says why.
  for _, id in ipairs(refused) do tell_to_ask(id, 0) end
  local free = head and free_at(holds, head)
  if free and head.id ~= asker and head.ask_at > free + HEAD_SLACK then
    head.ask_at = free + AFTER_END
    write_ticket(head)
    tell_to_ask(head.id, head.ask_at - now)
  end
  return more, head
end
