-- wrk -s benchmarks/wrk.lua URL -- FILE: posts the JSON bodies in FILE, one a line, in turns.
local bodies, last = {}, 0

function init(arguments)
   for line in io.lines(arguments[1]) do bodies[#bodies + 1] = line end
   wrk.method = "POST"
   wrk.headers["Content-Type"] = "application/json"
end

function request()
   last = last % #bodies + 1
   return wrk.format(nil, nil, nil, bodies[last])
end

-- Answers a second, milliseconds at 50, 95 and 99 %, and what was not answered with 2xx.
function done(summary, latency)
   local errors = summary.errors
   local failed = errors.connect + errors.read + errors.write + errors.timeout + errors.status
   local rate = summary.requests / summary.duration * 1e6
   local p50, p95, p99 = latency:percentile(50), latency:percentile(95), latency:percentile(99)
   io.write(string.format("%f %f %f %f %d\n", rate, p50 / 1e3, p95 / 1e3, p99 / 1e3, failed))
end
