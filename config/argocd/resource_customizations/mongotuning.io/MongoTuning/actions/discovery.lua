-- Which actions a MongoTuning offers now. They set annotations, which no diff of Argo CD minds as long as Git
-- does not set the same ones.
local annotations = {}
if obj.metadata ~= nil and obj.metadata.annotations ~= nil then
  annotations = obj.metadata.annotations
end
local isSuspended = annotations["mongotuning.io/suspend"] == "true"

local isRefused = false
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == "Stalled" and condition.status == "True" then
      local reason = condition.reason
      isRefused = reason == "RolledBack" or reason == "Paused" or reason == "HeldBack"
    end
  end
end

return {
  ["suspend"] = {["disabled"] = isSuspended},
  ["resume"] = {["disabled"] = not isSuspended},
  ["retry"] = {["disabled"] = not isRefused},
}
