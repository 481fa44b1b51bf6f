-- How many entries were removed that the group has not read, since the last call of any
-- process; the last id that the group was given, and the oldest that is there. Redis counts
-- the entries that it added, and those that the group has read. What is between them and
-- not there is gone; what is there is known if the group has read either all or none of it.
-- Then the group's count is set right, so that a loss is said once.
--
-- After a restart, or on a replica, the group's count is too low by what was read since Redis
-- last wrote all its data: it does not log the count. So a difference is not believed, only
-- set right, if the server is not the one (ARGV[2]) of the caller's last answer, or for the
-- first answer, if the group has read nothing since it started. The three seconds are for
-- processes that ran before the restart: their next call comes first.
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
            local info = redis.call('INFO', 'server')
            local function says(name)
                return string.match(info, name .. ':(%w+)')
            end
            local server = says('run_id')
            local started = tonumber(says('server_time_usec')) / 1000 - 1000 * tonumber(says('uptime_in_seconds'))
            local known = stream['entries-added'] - (whole and stream['length'] or 0)
            local believed = server == ARGV[2]
            if ARGV[2] == '' then
                believed = tonumber(string.match(passed, '%d+')) > started + 3000
            end
            if read < known then
                redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], passed, 'ENTRIESREAD', known)
                if believed then
                    return {server, tostring(known - read), passed, first}
                end
            end
            return {server}
        end
    end
end
return {}
