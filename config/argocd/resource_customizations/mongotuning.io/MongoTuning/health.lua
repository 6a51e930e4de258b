-- Health of a MongoTuning. The resource follows kstatus: observedGeneration, Reconciling and Stalled are
-- read in the order in which kstatus reads them, so Argo CD and Flux say the same. Written for the restricted
-- Lua that Argo CD runs scripts from argocd-cm in: no string and no math library.
local health = {status = "Progressing", message = "The operator has not looked at it yet"}

local status = obj.status
if status == nil or obj.metadata == nil then
  return health
end
if status.observedGeneration ~= nil and status.observedGeneration == -1 then
  return health
end
if status.observedGeneration ~= obj.metadata.generation then
  health.message = "The operator has not looked at the newest spec yet"
  return health
end

local conditions = {}
if status.conditions ~= nil then
  for _, condition in ipairs(status.conditions) do
    if condition.type ~= nil then
      conditions[condition.type] = condition
    end
  end
end

local function say(condition)
  return (condition.reason or "") .. ": " .. (condition.message or "")
end

local suspended, stalled = conditions.Suspended, conditions.Stalled
local reconciling, ready, verified = conditions.Reconciling, conditions.Ready, conditions.Verified

if suspended ~= nil and suspended.status == "True" then
  health.status = "Suspended"
  health.message = say(suspended)
elseif stalled ~= nil and stalled.status == "True" then
  -- Also after a change was taken back: what Git declares is not in force.
  health.status = "Degraded"
  health.message = say(stalled)
elseif reconciling ~= nil and reconciling.status == "True" then
  health.message = say(reconciling)
elseif ready ~= nil and ready.status == "True" then
  health.status = "Healthy"
  health.message = say(ready)
  -- A figure that is out of range is for alerts: it comes and goes with the load, and no sync would cure it.
  if verified ~= nil and verified.status == "False" then
    health.message = say(verified)
  end
elseif ready ~= nil then
  health.message = say(ready)
end
return health
