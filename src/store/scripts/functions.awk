# functions.awk - turns composed scripts (compose.awk) into libraries of Redis Functions, with one function each.
#
#     awk -v out=FOLDER -f functions.awk FOLDER/*.lua
#
# The helpers of a library are created once, when Redis loads it. So are constants: names in capitals whose values depend
# on nothing but constants.
# Names of keys depend on KEYS[1]: they are computed again when KEYS[1] differs from that of the previous call.
# Everything else at the top level of a script runs in each call, in the same order: a variable is declared once and set
# in each call. So no value of one call is left in the next one, even if a call ends with an error. A group of rare
# helpers (compose.awk) is treated in the same way: its helpers are created once, and its variables are set when a call
# first uses the group.
#
# Writes FOLDER/<script>.function, in which @NAME@ stands for the name of the library and of its function.

# In Lua a function can have 200 local variables, of which a loop hides some, and can use 60 variables of the functions around it.
BEGIN {
    LOCALS_MAX = 193
    UPVALUES_MAX = 55
}

FNR == 1 {
    if (name != "")
        write_library()
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.lua$/, "", name)
    split("", names)
    split("", is_name)
    split("", is_constant)
    split("", is_key)
    split("", steps)
    split("", keys)
    name_count = step_count = key_count = 0
    flags = statement = once = previous = ""
    in_group = 0
    if (match($0, /flags=.*/)) {
        flags = "'" substr($0, RSTART + 6) "'"
        gsub(/, */, "', '", flags)
    }
    next
}

/^[ \t]*(--.*)?$/ { next }

# A group of rare helpers ends with these two lines. A group may contain other groups.
in_group {
    statement = statement $0 "\n"
    if (/^function its_[a-z_]+\(\)$/)
        in_group++
    if (previous == "return made" && $0 == "end")
        in_group--
    previous = $0
    next
}

/^(end|else|elseif|until)/ || /^[ })]/ {
    statement = statement $0 "\n"
    next
}

{
    end_statement()
    statement = $0 "\n"
    in_group = /^function its_/
}

END {
    if (!failed)
        write_library()
    exit failed
}

function fail(text) {
    print "functions.awk: " name ".lua: " text > "/dev/stderr"
    exit failed = 1
}

function declare(word) {
    if (word == "_" && word in is_name)
        return
    if (word in is_name)
        fail(word " is declared twice")
    is_name[word] = 1
    names[++name_count] = word
}

function declare_all(list,    words, count, i) {
    count = split(list, words, /[ ,]+/)
    for (i = 1; i <= count; i++)
        if (words[i] != "")
            declare(words[i])
}

# Returns whether a value depends on constants only. If with_keys is set, it may also depend on names of keys and on
# Lua's functions. A library can use these when it is called, but not while it is loaded.
function is_fixed(code, with_keys,    words, count, i) {
    gsub(/--[^\n]*/, "", code)
    gsub(/'[^'\n]*'/, "", code)
    if (with_keys) {
        gsub(/KEYS\[1\]|redis\.call\n| (and|or|not) |string\.(sub|format)|math\.huge/, "", code)
    }
    count = split(code, words, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= count; i++)
        if (words[i] ~ /^[A-Za-z_]/ && !(words[i] in is_constant) && !(with_keys && words[i] in is_key))
            return 0
    return 1
}

# Decides when the declaration "list = rest" runs: once, for each KEYS[1], or in each call.
function end_declaration(list, rest,    words, count, i, fixed) {
    declare_all(list)
    fixed = list !~ /[a-z]/ || list ~ /^(call|base) $/
    count = split(list, words, /[ ,]+/)
    if (rest !~ /^=/)
        steps[++step_count] = list " = nil\n"
    else if (fixed && is_fixed(rest, 0)) {
        once = once list rest
        for (i = 1; i <= count; i++)
            is_constant[words[i]] = 1
    } else if (fixed && is_fixed(rest, 1)) {
        keys[++key_count] = list rest
        for (i = 1; i <= count; i++)
            is_key[words[i]] = 1
    } else
        steps[++step_count] = list rest
}

# Decides when the statement that has been read runs: a function is created once, and anything else is a step of each
# call.
function end_statement(    word) {
    if (match(statement, /^local function [A-Za-z0-9_]+/)) {
        declare(substr(statement, 16, RLENGTH - 15))
        once = once substr(statement, 7)
    } else if (match(statement, /^function its_[A-Za-z0-9_]+/)) {
        word = substr(statement, 10, RLENGTH - 9)
        declare("make_" word)
        once = once "make_" word " = " group_text(statement)
        steps[++step_count] = word " = make_" word "\n"
    } else if (match(statement, /^local [A-Za-z0-9_, ]+/)) {
        end_declaration(substr(statement, 7, RLENGTH - 6), substr(statement, RLENGTH + 1))
    } else if (statement != "") {
        steps[++step_count] = statement
    }
    statement = ""
}

# Returns a function that begins a group of rare helpers in a call: it sets the variables of the group, and returns its
# helpers. text is the group as compose.awk writes it: a function that creates the helpers.
function group_text(text,    pieces, count, is_function, group, i) {
    count = split_group(text, pieces)
    for (i = 1; i <= count; i++)
        if (match(pieces[i], /^function [A-Za-z0-9_]+/))
            is_function[substr(pieces[i], 10, RLENGTH - 9)] = 1
    group["locals"] = group["once"] = group["keys"] = group["sets"] = ""
    for (i = 1; i <= count; i++)
        add_piece(pieces[i], is_function, group)
    if (group["keys"] != "")
        group["keys"] = "if its_base ~= base then\nits_base = base\n" group["keys"] "end\n"
    return "(function()\nlocal its_made, its_base" group["locals"] "\n" group["once"] "function its_made() return made end\n" \
        "return function()\n" group["keys"] group["sets"] "return made\nend\nend)()\n"
}

# Splits the body of a group into its statements, and returns their number. A group within the group is one statement.
function split_group(text, pieces,    lines, line_count, i, depth, count) {
    line_count = split(text, lines, "\n") - 1
    for (i = 2; i <= line_count; i++) {
        if (lines[i] ~ /^[ \t]*(--.*)?$/)
            continue
        if (!depth && lines[i] !~ /^(end|else|elseif|until)/ && lines[i] !~ /^[ })]/)
            count++
        pieces[count] = pieces[count] lines[i] "\n"
        if (lines[i] ~ /^function its_[a-z_]+\(\)$/)
            depth++
        if (depth && lines[i - 1] == "return made" && lines[i] == "end")
            depth--
    }
    return count
}

# Adds a statement to one of the texts of its group: "locals" (names of variables), "once" (created once), "keys" (names
# of keys), or "sets" (set in each call).
function add_piece(piece, is_function, group,    word, list, rest) {
    if (match(piece, /^function its_[a-z_]+/)) {
        word = substr(piece, 10, RLENGTH - 9)
        if (piece ~ /^[^\n]* return made end\n$/) {
            group["sets"] = group["sets"] word " = its_made\n"
            return
        }
        group["once"] = group["once"] "local make_" word " = " group_text(piece)
        group["sets"] = group["sets"] word " = make_" word "\n"
    } else if (piece ~ /^(local )?function / || piece ~ /^local made = /) {
        group["once"] = group["once"] piece
    } else if (match(piece, /^local [A-Za-z0-9_, ]+/)) {
        list = substr(piece, 7, RLENGTH - 6)
        rest = substr(piece, RLENGTH + 1)
        add_variables(list, rest ~ /^=/, is_function, group)
        if (rest ~ /^=/)
            group[kind_of(list, rest)] = group[kind_of(list, rest)] list rest
    } else if (piece !~ /^return made\n/) {
        group["sets"] = group["sets"] piece
    }
}

# Returns to which of these texts the declaration "list = rest" belongs.
function kind_of(list, rest) {
    if (list ~ /[a-z]/)
        return "sets"
    return is_fixed(rest, 0) ? "once" : is_fixed(rest, 1) ? "keys" : "sets"
}

# Declares variables of a group. Each call sets those without a value to nil, except the names of helpers.
function add_variables(list, has_value, is_function, group,    words, count, i) {
    count = split(list, words, /[ ,]+/)
    for (i = 1; i <= count; i++) {
        if (words[i] == "")
            continue
        group["locals"] = group["locals"] ", " words[i]
        if (!has_value && !(words[i] in is_function))
            group["sets"] = group["sets"] words[i] " = nil\n"
    }
}

# Adds the declared names that a text contains to used. Returns how many of them were new there.
function add_used(code, used,    words, count, i, added) {
    gsub(/--[^\n]*/, "", code)
    gsub(/'[^'\n]*'/, "", code)
    count = split(code, words, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= count; i++)
        if ((words[i] in is_name || words[i] == "KEYS" || words[i] == "ARGV") && !(words[i] in used)) {
            used[words[i]] = 1
            added++
        }
    return added
}

# Returns the text of functions prefix1, prefix2 ... that contain the statements. Each uses at most UPVALUES_MAX
# variables. Sets part_count to the number of functions.
function parts_text(prefix, statements, statement_count,    i, whole, used, count, fresh) {
    split("", used)
    count = 0
    part_count = 1
    whole = "local function " prefix "1()\n"
    for (i = 1; i <= statement_count; i++) {
        fresh = add_used(statements[i], used)
        if (count + fresh > UPVALUES_MAX && count > 0) {
            split("", used)
            fresh = add_used(statements[i], used)
            count = 0
            whole = whole "end\nlocal function " prefix (++part_count) "()\n"
        }
        count += fresh
        whole = whole statements[i]
    }
    return whole "end\n"
}

function write_library(    whole, i, file, list) {
    end_statement()
    if (name_count > LOCALS_MAX)
        fail(name_count " variables, more than " LOCALS_MAX)
    for (i = 1; i <= name_count; i++)
        list = list (i > 1 ? ", " : "") names[i]
    whole = "#!lua name=@NAME@\nlocal KEYS, ARGV, named_for\nlocal " list "\n" once
    whole = whole parts_text("keys", keys, key_count) "local function name_keys()\n"
    for (i = 1; i <= part_count; i++)
        whole = whole "keys" i "()\n"
    whole = whole "named_for = KEYS[1]\nend\n"
    # part1, part2 ... run one after the other, until one returns a value.
    whole = whole parts_text("part", steps, step_count)
    whole = whole "redis.register_function{function_name = '@NAME@', flags = {" flags "}, callback = function(keys, args)\n"
    whole = whole "KEYS, ARGV = keys, args\nif named_for ~= KEYS[1] then name_keys() end\nlocal reply = part1()"
    for (i = 2; i <= part_count; i++)
        whole = whole " or part" i "()"
    whole = whole "\nKEYS, ARGV = nil, nil\nreturn reply\nend}\n"
    file = out "/" name ".function"
    printf "%s", whole > file
    close(file)
}
