-- Changes may go on. The annotation is set to "false" and not taken away: were it the only one, Argo CD would
-- take the empty table for a mistake of Lua and keep it as it was. spec.suspend is for Git to change.
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["mongotuning.io/suspend"] = "false"
return obj
