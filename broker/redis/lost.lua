-- How many entries were removed that the group has not read, since the last call of any
-- process; the last id that the group was given, and the oldest that is there. Redis counts
-- the entries that it added, and those that the group has read. What is between them and
-- not there is gone; what is there is known if the group has read either all or none of it.
-- Then the group's count is set right, so that a loss is said once.
local function fields(list)
    local t = {}
    for i = 1, #list, 2 do
        t[list[i]] = list[i + 1]
    end
    return t
end
local function after(a, b)
    local ams, an = string.match(a, '(%d+)-(%d+)')
    local bms, bn = string.match(b, '(%d+)-(%d+)')
    ams, an, bms, bn = tonumber(ams), tonumber(an), tonumber(bms), tonumber(bn)
    return ams > bms or ams == bms and an > bn
end
local stream = fields(redis.call('XINFO', 'STREAM', KEYS[1]))
local first = stream['first-entry'] and stream['first-entry'][1] or ''
for _, list in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    local group = fields(list)
    local read, passed = group['entries-read'], group['last-delivered-id']
    if group['name'] == ARGV[1] and read then
        local whole = first == '' or after(first, passed)
        if whole or passed == stream['last-generated-id'] then
            local known = stream['entries-added'] - (whole and stream['length'] or 0)
            if read < known then
                redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], passed, 'ENTRIESREAD', known)
                return {tostring(known - read), passed, first}
            end
        end
    end
end
return {}
