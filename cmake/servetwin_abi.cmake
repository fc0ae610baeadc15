# cmake -P: writes OUT, a header that names what a plug-in must have been compiled against: the version and a
# hash of every installed header below SOURCE.
file(GLOB_RECURSE headers RELATIVE ${SOURCE} ${SOURCE}/engine/*.h ${SOURCE}/kernels/*.h ${SOURCE}/sim/*.h
     ${SOURCE}/costmodels/*.h ${SOURCE}/scenarios/*.h)
list(SORT headers)
set(all "")
foreach(header IN LISTS headers)
  file(SHA256 ${SOURCE}/${header} hash)
  string(APPEND all "${header} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
// The marker of plug-ins: files that hold another text than the program's own are refused.
#pragma once

#define SERVETWIN_PLUGIN_ABI "servetwin-plugin-abi @VERSION@ @hash@"
]])
