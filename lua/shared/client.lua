-- The client of an acquisition: its id begins with the id of the client, and a colon.
local function client_of(id)
  return string.match(id, '^[^:]+')
end
