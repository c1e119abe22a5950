# Puts each script into a C table, behind the helpers of lib/ that it uses, see compose.awk. Redis names a script by the SHA-1
# of its text, which CMake computes here from the very bytes that are embedded. The table also has the commands that scripts
# run: all words in capitals between quotes.
set(script_folder ${CMAKE_CURRENT_LIST_DIR})
file(GLOB scripts CONFIGURE_DEPENDS ${script_folder}/*.lua)
file(GLOB helpers CONFIGURE_DEPENDS ${script_folder}/lib/*.lua)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${scripts} ${helpers}
  ${script_folder}/compose.awk)

find_program(AWK awk REQUIRED)
set(composed ${CMAKE_BINARY_DIR}/generated/scripts)
file(MAKE_DIRECTORY ${composed})
execute_process(
  COMMAND ${AWK} -v out=${composed} -v "needs=${DUEPOST_KNOWN_NEEDS}" -f ${script_folder}/compose.awk ${helpers} ${scripts}
  COMMAND_ERROR_IS_FATAL ANY)

set(table "/* Made by src/store/scripts/embed.cmake from the scripts beside it. */\n#include \"store/script.h\"\n\n")
string(APPEND table "const struct script_text script_texts[SCRIPT_COUNT] = {\n")
set(commands "")
foreach(path ${scripts} ${helpers})
  file(READ ${path} text)
  string(REGEX MATCHALL "'[A-Z][A-Z]+'" words "${text}")
  list(APPEND commands ${words})
endforeach()
list(REMOVE_DUPLICATES commands)
list(SORT commands)
string(REPLACE ";" " " commands "${commands}")
string(REPLACE "'" "" commands "${commands}")
foreach(path ${scripts})
  get_filename_component(name ${path} NAME_WE)
  file(READ ${composed}/${name}.lua text)
  string(SHA1 digest "${text}")
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
  string(TOUPPER ${name} upper)
  string(APPEND table "    [SCRIPT_${upper}] =\n    {\"${name}\", \"${digest}\",\n     \"${text}\"},\n")
endforeach()
string(APPEND table "};\n\nconst char *const script_commands = \"${commands}\";\n")
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/script_texts.c CONTENT "${table}")
target_sources(duepost_store PRIVATE ${CMAKE_BINARY_DIR}/generated/script_texts.c)
set_source_files_properties(${CMAKE_BINARY_DIR}/generated/script_texts.c PROPERTIES COMPILE_OPTIONS "-Wno-overlength-strings")
