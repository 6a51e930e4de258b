-- No changes from now on; looking, judging and alerts go on.
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["mongotuning.io/suspend"] = "true"
return obj
