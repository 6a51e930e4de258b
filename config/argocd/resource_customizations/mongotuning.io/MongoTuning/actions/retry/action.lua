-- Tries the revision again that was taken back, held back or stopped. The request has to differ from the one
-- that was handled last, so "REVISION" and "REVISION/2" take turns.
local status = obj.status or {}
local revision = nil
if status.revisions ~= nil then
  revision = status.revisions.current
end
if revision == nil then
  error("status.revisions.current names no revision to try again")
end
local request = revision
if status.lastHandledRetry == revision then
  request = revision .. "/2"
end
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["mongotuning.io/retry"] = request
return obj
