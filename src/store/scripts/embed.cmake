# Makes one library of Redis Functions of the scripts (library.awk) and puts it into C. The names of the library and of its
# functions have the beginning of its SHA-1, so that several versions can use one Redis. A second library is for servers
# with a manual clock. C also gets the commands that scripts run: all words in capitals between quotes.
set(script_folder ${CMAKE_CURRENT_LIST_DIR})
file(GLOB scripts CONFIGURE_DEPENDS ${script_folder}/*.lua)
file(GLOB helpers CONFIGURE_DEPENDS ${script_folder}/lib/*.lua)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${scripts} ${helpers}
  ${script_folder}/library.awk ${script_folder}/results.list)

find_program(AWK awk REQUIRED)
foreach(kind library manual_library)
  string(COMPARE EQUAL ${kind} manual_library is_manual)
  execute_process(
    COMMAND ${AWK} -v "needs=${DUEPOST_KNOWN_NEEDS}" -v is_manual=${is_manual} -f ${script_folder}/library.awk
      ${script_folder}/results.list ${helpers} ${scripts}
    OUTPUT_VARIABLE text
    COMMAND_ERROR_IS_FATAL ANY)
  string(SHA1 digest "${text}")
  string(SUBSTRING ${digest} 0 16 digest)
  string(REPLACE "@DIGEST@" ${digest} text "${text}")
  if(is_manual)
    string(REGEX MATCHALL "'[A-Z][A-Z]+'" commands "${text}")
  endif()

  # As a text of C, on several lines.
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  set(${kind}_text "${text}")
  set(${kind}_digest ${digest})
endforeach()
list(REMOVE_DUPLICATES commands)
list(SORT commands)
string(REPLACE ";" " " commands "${commands}")
string(REPLACE "'" "" commands "${commands}")

# Each script becomes a SCRIPT_<NAME>, and each line of results.list a RESULT_<NAME>.
set(table "/* Made by src/store/scripts/embed.cmake from the scripts beside it. */\n#include \"store/script.h\"\n\n")
foreach(kind library manual_library)
  string(APPEND table "const struct script_library script_${kind} = {\n    \"duepost_${${kind}_digest}\",\n")
  string(APPEND table "    \"${${kind}_text}\"};\n\n")
endforeach()
string(APPEND table "const char script_commands[] = \"${commands}\";\n\n")
string(APPEND table "const struct script_text script_texts[SCRIPT_COUNT] = {\n")
set(header "/* Made by src/store/scripts/embed.cmake from the scripts and results.list beside it. */\n")
string(APPEND header "#ifndef DUEPOST_STORE_SCRIPT_LIST_H\n#define DUEPOST_STORE_SCRIPT_LIST_H\n\nenum script_id {\n")
foreach(path ${scripts})
  get_filename_component(name ${path} NAME_WE)
  string(TOUPPER ${name} upper)
  file(STRINGS ${path} registration REGEX "^(script|register)\\('${name}', {")
  string(REGEX MATCH "'allow-oom'|'no-writes'" runs_when_full "${registration}")
  string(COMPARE NOTEQUAL "${runs_when_full}" "" runs_when_full)
  string(APPEND header "    SCRIPT_${upper},\n")
  string(APPEND table "    [SCRIPT_${upper}] = {\"${name}\", \"duepost_${name}_${library_digest}\",\n        \"duepost_${name}_${manual_library_digest}\", ${runs_when_full}},\n")
endforeach()
string(APPEND table "};\n")
string(APPEND header "    SCRIPT_COUNT,\n};\n\nenum {\n")
file(STRINGS ${script_folder}/results.list results REGEX "^[A-Z]")
foreach(result ${results})
  string(REGEX REPLACE "^([A-Z_]+) +(-[0-9]+) (.*)$" "    RESULT_\\1 = \\2, /* \\3 */\n" line "${result}")
  string(APPEND header "${line}")
endforeach()
string(APPEND header "};\n\n#endif\n")
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/include/store/script_list.h CONTENT "${header}")
target_include_directories(duepost_store PUBLIC ${CMAKE_BINARY_DIR}/generated/include)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/script_texts.c CONTENT "${table}")
target_sources(duepost_store PRIVATE ${CMAKE_BINARY_DIR}/generated/script_texts.c)
set_source_files_properties(${CMAKE_BINARY_DIR}/generated/script_texts.c PROPERTIES COMPILE_OPTIONS "-Wno-overlength-strings")
