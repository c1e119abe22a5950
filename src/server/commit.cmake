# Writes the header OUTPUT with the commit of the sources in the folder SOURCE: COMMIT if it is given, else the commit
# of its git repository, with -dirty if files differ from it, else "unknown". The header is not touched if it stays the
# same, so that nothing is compiled again.
#
#   cmake -DSOURCE=FOLDER -DOUTPUT=FILE [-DCOMMIT=TEXT] -P commit.cmake
if(NOT COMMIT AND EXISTS ${SOURCE}/.git) # not that of a repository around the sources
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT "${COMMIT}" MATCHES "^[A-Za-z0-9._+-]+$")
  set(COMMIT unknown)
endif()
set(text "#define DUEPOST_COMMIT \"${COMMIT}\"\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${OUTPUT} ${text})
endif()
