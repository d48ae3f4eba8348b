-- The two keys of the index of many holds. Their names follow from that of the state. They are in its slot, and each has a
-- TTL whenever it exists. They are not among the KEYS: most commands would carry them for nothing.
local function crowd_keys(state)
  return (string.gsub(state, ':state:', ':ends:', 1)), (string.gsub(state, ':state:', ':crowd:', 1))
end
