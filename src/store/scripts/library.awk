# library.awk - makes one library of Redis Functions of the scripts and the files of lib/ that they use.
#
#     awk -v needs="NAMES" [-v is_manual=1] -f library.awk results.list lib/*.lua *.lua
#
# is_manual: the library of a server with a manual clock, which ends with lib/manual_clock.lua and has the script clock.
#
# The files stand one after the other, without comments and indentation: first the files of lib/ whose names all others
# can use, then the other files of lib/, each after those that its "uses" names, then the scripts. In Lua, a function has
# room for 200 local variables, so each file is the body of a function of its own. @DIGEST@ stands for the digest of the
# text in the names of the library and its functions.
BEGIN { common = split("keys base settings check script", common_files, " ") }

FILENAME ~ /results\.list$/ {
    if (/^[A-Z]/)
        results = results (results ? ", " : "") $1 " = " $2
    next
}

FNR == 1 {
    file = FILENAME
    sub(/\.lua$/, "", file)
    is_script = file !~ /(^|\/)lib\//
    sub(/.*\//, "", file)
    if (is_script)
        scripts[++script_count] = file
}

/^local [A-Z][A-Za-z]+ = \{uses = / {
    file_of[$2] = file
    table_of[file] = $2
    uses[file] = $0
    tables[++table_count] = file
    gsub(/^.*\{|[},]/, "", uses[file])
}

/^ *(--|$)/ { next }

{
    sub(/^ +/, "")
    text[is_script, file] = text[is_script, file] $0 "\n"
}

function put(file,    used, count, i) {
    if (is_put[file]++)
        return
    count = split(uses[file], used, " ")
    for (i = 1; i <= count; i++)
        put(file_of[used[i]])
    printf "local %s = (function()\n%send)()\n", table_of[file], text[0, file]
}

END {
    gsub(/@KNOWN_NEEDS@/, needs, text[0, "settings"])
    printf "#!lua name=duepost_@DIGEST@\nlocal RESULT = {%s}\n", results
    for (i = 1; i <= common; i++)
        printf "%s", text[0, common_files[i]]
    for (i = 1; i <= table_count; i++)
        put(tables[i])
    for (i = 1; i <= script_count; i++)
        if (is_manual || scripts[i] != "clock")
            printf ";(function()\n%send)()\n", text[1, scripts[i]]
    if (is_manual)
        printf ";(function()\n%send)()\n", text[0, "manual_clock"]
}
