-- If a key has more holds than this, scripts read an index instead of all holds (shared/crowd.lua).
local CROWD = 8
