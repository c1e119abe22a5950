# compose.awk - puts in front of each script the helpers of lib/ that it uses, and no others: Redis builds every helper of a
# script anew in each call, and a helper costs more the more of them there are.
#
#     awk -v out=FOLDER -v needs="NAMES" -f compose.awk results.list lib/*.lua *.lua
#
# A line "-- uses: a b" at the head of a script or a helper file names lib/a.lua and lib/b.lua; each comes once, behind the
# files that it uses itself. Of such a file a script carries the declarations that it reaches: a declaration is a "local" at
# the start of a line, with the comment above it. Writes FOLDER/<script>.lua.
#
# A line "-- rare: <group>" above a helper says that most calls do not need it. The first call of a rare helper makes all of its
# group, with the declarations that only the group reaches.
#
# For each variable that a closure captures, Lua walks through all that are captured from the same function, the latest first;
# what comes from further out, it copies. So the declarations stand in NESTED functions, one within the other.
BEGIN { split("15 40", NESTED, " ") }

# RESULT_<name> stands for its number.
FILENAME ~ /results\.list$/ {
    if (/^[A-Z]/)
        results["RESULT_" $1] = $2
    next
}

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
    if (group != "") {
        rare[part] = group
        rare_name[part] = $3
        sub(/\(.*/, "", rare_name[part])
        group = ""
    }
}

/^-- rare: / {
    group = $3
    next
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

# Marks the parts that a text reaches by their names. Parts of one group that only the group reaches are its own; users: how
# many groups reach a part, and "" stands for the script itself.
function reach(code, group,    words, count, i, found) {
    gsub(/--[^\n]*/, "", code)
    gsub(/'[^'\n]*'/, "", code)
    count = split(code, words, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= count; i++) {
        found = owner[words[i]]
        if (!found || (group, found) in is_reached)
            continue
        is_reached[group, found] = 1
        if (found in rare) {
            if (!(rare[found] in is_group)) {
                is_group[rare[found]] = 1
                groups[++group_count] = rare[found]
            }
            is_used[found] = 1
        } else {
            users[found]++
            reached_by[found] = group
            reach(body[found], group)
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

# Where a part is: "" with all others, else in the function that makes its group.
function home(part) {
    if (part in rare)
        return is_used[part] ? rare[part] : "-"
    if (!users[part])
        return "-"
    return users[part] > 1 ? "" : reached_by[part]
}

# Rare functions that a script uses, behind the last of their group: at its first call, each makes all of them.
function rare_group(group, parts_in_order, count,    i, its, makers, names, name) {
    for (i = 1; i <= count; i++) {
        if (home(parts_in_order[i]) != group)
            continue
        its = body[parts_in_order[i]]
        if (parts_in_order[i] in rare) {
            name = rare_name[parts_in_order[i]]
            sub("local function " name, "function " name, its)
            makers = makers "function " name "(...) make_" group "() return " name "(...) end\n"
        }
        names = names its
    }
    return "local function make_" group "()\n" names "end\n" makers
}

function with_results(code,    done, word) {
    while (match(code, /RESULT_[A-Z_]+/)) {
        word = substr(code, RSTART, RLENGTH)
        if (!(word in results)) {
            print "compose.awk: results.list has no " word > "/dev/stderr"
            exit failed = 1
        }
        done = done substr(code, 1, RSTART - 1) results[word]
        code = substr(code, RSTART + RLENGTH)
    }
    return done code
}

function compose(name,    flags, rest, whole, i, k, count, its, all, last, declared, emitted, ends) {
    split("", is_reached)
    split("", is_placed)
    split("", is_group)
    split("", is_used)
    split("", users)
    split("", reached_by)
    split("", all)
    placed = group_count = count = 0
    put_in_order(uses[0, name])
    reach(text[name], "")
    for (i = 1; i <= group_count; i++)
        for (k in is_used)
            if (rare[k] == groups[i])
                reach(body[k], groups[i])
    for (i = 1; i <= placed; i++) {
        k = split(files[order[i]], its, " ")
        for (k = 1; k in its; k++)
            all[++count] = its[k]
    }
    for (i = 1; i <= count; i++) {
        if (!(all[i] in rare) || !is_used[all[i]])
            continue
        last[rare[all[i]]] = i
        declared[rare[all[i]]] = declared[rare[all[i]]] (declared[rare[all[i]]] ? ", " : "") rare_name[all[i]]
    }
    rest = text[name]
    flags = "#!lua\n"
    if (match(rest, /^#![^\n]*\n/)) {
        flags = substr(rest, 1, RLENGTH)
        rest = substr(rest, RLENGTH + 1)
    }
    whole = flags
    for (i = 1; i <= count; i++) {
        k = home(all[i])
        if (k == "") {
            whole = whole body[all[i]]
            emitted++
            if (emitted == NESTED[1] || emitted == NESTED[2]) {
                whole = whole "return (function()\n"
                ends = ends "end)()\n"
            }
        } else if (k != "-" && all[i] in rare) {
            if (declared[k]) {
                whole = whole "local " declared[k] "\n"
                declared[k] = ""
            }
            if (last[k] == i)
                whole = whole rare_group(k, all, count)
        }
    }
    whole = whole rest ends
    gsub(/@KNOWN_NEEDS@/, needs, whole)
    whole = with_results(whole)
    printf "%s", whole > (out "/" name ".lua")
    close(out "/" name ".lua")
}

END {
    if (failed)
        exit 1
    for (name in scripts)
        compose(name)
}
