# The Debian package: (cd build/release && cpack). Its files are a separate component, so that a plain
# "cmake --install" installs only the binary.
set(tree COMPONENT debian EXCLUDE_FROM_ALL)
install(TARGETS duepost RUNTIME DESTINATION usr/bin ${tree})
install(FILES ${CMAKE_CURRENT_LIST_DIR}/duepost.conf DESTINATION etc/duepost ${tree})
install(FILES ${CMAKE_CURRENT_LIST_DIR}/duepost.service DESTINATION usr/lib/systemd/system ${tree})
install(FILES README.md SECURITY.md api/openapi.yaml config/grafana.json
  config/alerts.yml DESTINATION usr/share/doc/duepost ${tree})
install(DIRECTORY docs DESTINATION usr/share/doc/duepost ${tree} PATTERN "*.picture" EXCLUDE)

# Debian requires two compressed changelogs, of duepost and of its packaging, without name and time in the gzip
# header. The date in the packaging's changelog is SOURCE_DATE_EPOCH if this is set.
set(maintainer "duepost maintainers <maintainers@duepost.example>")
set(release 1)
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(CONFIGURE OUTPUT changelog.Debian @ONLY CONTENT
"duepost (@PROJECT_VERSION@-@release@) unstable; urgency=medium

  * See changelog.gz.

 -- @maintainer@  @now@
")
file(COPY_FILE CHANGELOG.md ${CMAKE_CURRENT_BINARY_DIR}/changelog ONLY_IF_DIFFERENT)
foreach(name changelog changelog.Debian)
  add_custom_command(OUTPUT ${name}.gz COMMAND gzip --best --no-name --keep --force ${name}
    DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${name} VERBATIM)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.gz DESTINATION usr/share/doc/duepost ${tree})
endforeach()

# The manual page, and the completion of shells, are printed by the program itself. A program for another processor does
# not run here, so its build has none of them.
if(NOT CMAKE_CROSSCOMPILING AND NOT DUEPOST_SANITIZE AND NOT DUEPOST_FUZZ)
  set(manual ${CMAKE_CURRENT_BINARY_DIR}/manual)
  file(MAKE_DIRECTORY ${manual})
  file(CONFIGURE OUTPUT manual/duepost.conf.5 CONTENT ".so man1/duepost.1\n")
  add_custom_command(OUTPUT ${manual}/duepost.1.gz ${manual}/duepost.conf.5.gz ${manual}/duepost ${manual}/_duepost ${manual}/duepost.fish
    COMMAND sh -c "\"$0\" --print-man >duepost.1 && gzip --best --no-name --keep --force duepost.1 duepost.conf.5 && \
\"$0\" completion bash >duepost && \"$0\" completion zsh >_duepost && \"$0\" completion fish >duepost.fish" $<TARGET_FILE:duepost>
    WORKING_DIRECTORY ${manual} DEPENDS duepost VERBATIM)
  add_custom_target(manual ALL DEPENDS ${manual}/duepost.1.gz)
  install(FILES ${manual}/duepost.1.gz DESTINATION usr/share/man/man1 ${tree})
  install(FILES ${manual}/duepost.conf.5.gz DESTINATION usr/share/man/man5 ${tree})
  install(FILES ${manual}/duepost DESTINATION usr/share/bash-completion/completions ${tree})
  install(FILES ${manual}/_duepost DESTINATION usr/share/zsh/vendor-completions ${tree})
  install(FILES ${manual}/duepost.fish DESTINATION usr/share/fish/vendor_completions.d ${tree})
endif()
add_custom_target(changelogs ALL DEPENDS changelog.gz changelog.Debian.gz)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME duepost)
set(CPACK_PACKAGE_CONTACT ${maintainer})
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};duepost;debian;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "POSTs jobs to URLs when they are due")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Takes a job over HTTP now and POSTs it to a URL when it is due, and again if an
attempt fails. By default a confirmed job is on disk: it survives the death of
any process and a power cut.

Jobs are kept in Redis. If no address of a Redis is configured, duepost runs a
private redis-server; therefore that package is recommended. Any number of
duepost processes may share one Redis.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, ca-certificates, tzdata")
# Contains redis-server, which duepost runs when --redis is not set (redis-tools has the binary under another name).
# It is not required with another Redis, and it starts a service on port 6379 that duepost does not use.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "redis-server (>= 5:7.0) | valkey-server")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_LIST_DIR}/debian/conffiles
  ${CMAKE_CURRENT_LIST_DIR}/debian/postinst
  ${CMAKE_CURRENT_LIST_DIR}/debian/prerm
  ${CMAKE_CURRENT_LIST_DIR}/debian/postrm)

include(CPack)
