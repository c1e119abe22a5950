# compose.awk - puts in front of each script the helpers of lib/ that it uses, and no others: a function of Lua has room for
# 200 variables, and each call sets the variables of its helpers. functions.awk makes a library of the result.
#
#     awk -v out=FOLDER -v needs="NAMES" -f compose.awk results.list lib/*.lua *.lua
#
# A line "-- uses: a b" at the head of a script or a helper file names lib/a.lua and lib/b.lua; each comes once, after
# the files that it uses itself. A script carries only the declarations of such a file that it uses, directly or through
# others. A declaration is a "local" at the start of a line, with the comment above it. Writes FOLDER/<script>.lua.
#
# A line "-- rare: <group>" above a helper says that most calls do not need it. All rare helpers of a group together
# cost each call only one variable, a function. When a call first uses the group, this function sets the variables that
# only the group uses. If a helper or a constant is used by several groups, and by nothing else, each group has its
# own copy. A line "-- plain: a b" at the head of a script names helpers that are not rare there.

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

/^-- plain: / { plain[file] = substr($0, 11) }

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
    sub(/(--|[=(]).*/, "", line)
    count = split(line, names, /[ ,]+/)
    for (i = 1; i <= count; i++)
        if (names[i] in owner) {
            print "compose.awk: lib/" file ".lua: " names[i] " is declared in another file, too" > "/dev/stderr"
            exit failed = 1
        } else if (names[i] != "") {
            owner[names[i]] = part
        }
}

# Returns whether a part is rare in the script that is composed.
function is_rare(part) { return part in rare && !(part in is_plain) }

# A part is a declaration of a helper file with its comment. Marks the parts and groups whose names a text contains, and
# all that these use in turn. user: the group that the text belongs to, "" for the script itself.
function reach(code, user,    words, count, i, found) {
    gsub(/--[^\n]*/, "", code)
    gsub(/'[^'\n]*'/, "", code)
    count = split(code, words, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= count; i++) {
        found = owner[words[i]]
        if (!found || (user, found) in is_reached)
            continue
        is_reached[user, found] = 1
        if (!is_rare(found)) {
            note_user(users, user, found)
            reach(body[found], user)
            continue
        }
        if (rare[found] != user)
            note_user(group_users, user, rare[found])
        if (!is_used[found]++)
            reach(body[found], rare[found])
    }
}

# Adds user to all[used], the users of a part or a group: names of groups between blanks, "-" for the script itself.
function note_user(all, user, used,    name) {
    name = " " (user == "" ? "-" : user) " "
    if (index(all[used], name) == 0)
        all[used] = all[used] name
}

# Appends the used files to order, each after the files that it uses itself.
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

# Returns whether a part, or the function that creates a group, is declared at this level. A level is the inside of a
# group, or "" for the outside of all groups. its_users: who uses the part, see note_user.
function stands_at(level, its_users, may_be_copied,    names, count) {
    count = split(its_users, names, " ")
    if (count == 1)
        return level == (names[1] == "-" ? "" : names[1])
    if (may_be_copied && index(its_users, " - ") == 0)
        return level != "" && index(its_users, " " level " ") > 0
    return count > 1 && level == ""
}

# Returns a text in which each rare helper of another group is replaced by a call of that group's function:
# its_<group>().<helper>.
function with_groups(code, own,    done, word, part, before) {
    while (match(code, /'[^'\n]*'|--[^\n]*|[A-Za-z0-9_]+/)) {
        word = substr(code, RSTART, RLENGTH)
        before = RSTART > 1 ? substr(code, RSTART - 1, 1) : ""
        part = owner[word]
        done = done substr(code, 1, RSTART - 1)
        if (part && is_rare(part) && rare[part] != own && before != ".") {
            if (done ~ /local (function )?$/) {
                print "compose.awk: " word " is the name of a rare helper" > "/dev/stderr"
                exit failed = 1
            }
            done = done "its_" rare[part] "()."
        }
        done = done word
        code = substr(code, RSTART + RLENGTH)
    }
    return done code
}

# Returns the text of all declarations of a level, in their order. The function that creates a group is written where
# the last rare helper of this group would be.
function level_text(level,    i, part, whole, group, has_begun, made) {
    for (i = 1; i <= total; i++) {
        part = parts_in_order[i]
        if (!is_rare(part)) {
            if (!stands_at(level, users[part], body[part] ~ /(^|\n)local (function |[A-Z][A-Z_, ]* = [^{]*$)/))
                continue
            whole = whole with_groups(body[part], level)
        } else if (is_used[part] && rare[part] == level) {
            made = body[part]
            sub("local function " rare_name[part], "function " rare_name[part], made)
            whole = whole with_groups(made, level)
        } else if (is_used[part] && stands_at(level, group_users[rare[part]], 0)) {
            group = rare[part]
            if (!has_begun[group]++)
                whole = whole "local its_" group "\n"
            if (last[group] == i)
                whole = whole group_text(group)
        }
    }
    return whole
}

# Returns the text of a group's function, which creates the rare helpers of the group when it is first called, and
# returns them by name.
function group_text(group,    names, count, i, list, fields) {
    count = split(members[group], names, " ")
    for (i = 1; i <= count; i++) {
        list = list (i > 1 ? ", " : "") names[i]
        fields = fields (i > 1 ? ", " : "") names[i] " = " names[i]
    }
    return "function its_" group "()\nlocal " list "\n" level_text(group) \
        "local made = {" fields "}\nfunction its_" group "() return made end\nreturn made\nend\n"
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

# Fills parts_in_order with the declarations of the used files, and members with the rare helpers of each group.
function put_parts_in_order(    i, k, its, part) {
    total = 0
    for (i = 1; i <= placed; i++) {
        split(files[order[i]], its, " ")
        for (k = 1; k in its; k++)
            parts_in_order[++total] = its[k]
    }
    for (i = 1; i <= total; i++) {
        part = parts_in_order[i]
        if (!is_rare(part) || !is_used[part])
            continue
        last[rare[part]] = i
        members[rare[part]] = members[rare[part]] " " rare_name[part]
    }
}

function note_plain(name,    names, count, i) {
    count = split(plain[name], names, " ")
    for (i = 1; i <= count; i++) {
        if (!(owner[names[i]] in rare)) {
            print "compose.awk: no rare helper " names[i] > "/dev/stderr"
            exit failed = 1
        }
        is_plain[owner[names[i]]] = 1
    }
}

function compose(name,    flags, rest, whole) {
    split("", is_reached)
    split("", is_placed)
    split("", is_plain)
    split("", is_used)
    split("", users)
    split("", group_users)
    split("", last)
    split("", members)
    placed = 0
    note_plain(name)
    put_in_order(uses[0, name])
    reach(text[name], "")
    put_parts_in_order()
    rest = text[name]
    flags = "#!lua\n"
    if (match(rest, /^#![^\n]*\n/)) {
        flags = substr(rest, 1, RLENGTH)
        rest = substr(rest, RLENGTH + 1)
    }
    whole = flags level_text("") with_groups(rest, "")
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
