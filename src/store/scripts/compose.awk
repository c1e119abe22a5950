# compose.awk - puts in front of each script the helpers of lib/ that it uses, and no others: Redis builds every helper of a
# script anew in each call, and a helper costs more the more of them there are.
#
#     awk -v out=FOLDER -v needs="NAMES" -f compose.awk lib/*.lua *.lua
#
# A line "-- uses: a b" at the head of a script or a helper file names lib/a.lua and lib/b.lua; each comes once, behind the
# files that it uses itself. Of such a file a script carries the declarations that it reaches: a declaration is a "local" at
# the start of a line, with the comment above it. Writes FOLDER/<script>.lua.

FNR == 1 {
    file = FILENAME
    sub(/\.lua$/, "", file)
    is_helper = file ~ /(^|\/)lib\//
    sub(/.*\//, "", file)
    if (is_helper)
        files[file] = 0
    else
        scripts[file] = 1
    part = 0
    pending = ""
}

/^-- uses: / { uses[is_helper, file] = substr($0, 10) }

!is_helper {
    text[file] = text[file] $0 "\n"
    next
}

/^local / {
    part = ++parts
    files[file] = files[file] " " part
    declare($0)
}

# Comments and blank lines belong to what follows them.
/^(--|$)/ {
    pending = pending $0 "\n"
    next
}

{
    body[part] = body[part] pending $0 "\n"
    pending = ""
}

function declare(line,    names, i, count) {
    sub(/^local (function )?/, "", line)
    sub(/[=(].*/, "", line)
    count = split(line, names, /[ ,]+/)
    for (i = 1; i <= count; i++)
        if (names[i] != "")
            owner[names[i]] = part
}

# Marks the parts that a text reaches by their names.
function reach(code,    words, count, i, found) {
    gsub(/--[^\n]*/, "", code)
    gsub(/'[^'\n]*'/, "", code)
    count = split(code, words, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= count; i++) {
        found = owner[words[i]]
        if (found && !is_reached[found]) {
            is_reached[found] = 1
            reach(body[found])
        }
    }
}

# Appends the used files to order, each behind those that it uses itself.
function put_in_order(names,    used, count, i) {
    count = split(names, used, " ")
    for (i = 1; i <= count; i++) {
        if (!(used[i] in files)) {
            print "compose.awk: there is no lib/" used[i] ".lua" > "/dev/stderr"
            exit failed = 1
        }
        if (!is_placed[used[i]]++) {
            put_in_order(uses[1, used[i]])
            order[++placed] = used[i]
        }
    }
}

function compose(name,    flags, rest, whole, i, k, count, its) {
    split("", is_reached)
    split("", is_placed)
    placed = 0
    put_in_order(uses[0, name])
    reach(text[name])
    rest = text[name]
    flags = "#!lua\n"
    if (match(rest, /^#![^\n]*\n/)) {
        flags = substr(rest, 1, RLENGTH)
        rest = substr(rest, RLENGTH + 1)
    }
    whole = flags
    for (i = 1; i <= placed; i++) {
        count = split(files[order[i]], its, " ")
        for (k = 1; k <= count; k++)
            if (is_reached[its[k]])
                whole = whole body[its[k]]
    }
    whole = whole rest
    gsub(/@KNOWN_NEEDS@/, needs, whole)
    printf "%s", whole > (out "/" name ".lua")
    close(out "/" name ".lua")
}

END {
    if (failed)
        exit 1
    for (name in scripts)
        compose(name)
}
