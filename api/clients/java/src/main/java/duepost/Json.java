package duepost;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads and writes JSON. Objects are maps, arrays lists, integers Long or BigDecimal, other numbers Double; and there are records. */
public final class Json {
    private static final int MAX_DEPTH = 512;
    private final String text;
    private int at;

    private Json(String text) { this.text = text; }

    public static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        if (json.next() != 0) {
            throw json.wrong();
        }
        return value;
    }

    /** Reads a record. Members that it does not know are left out. */
    public static <T> T read(String text, Class<T> type) {
        return type.cast(to(type, read(text)));
    }

    private IllegalArgumentException wrong() { return new IllegalArgumentException("the text is not JSON at character " + at); }

    /** Returns the next character that is not a space, or 0 at the end. */
    private char next() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : 0;
    }

    private boolean skip(char c) {
        boolean isNext = next() == c;
        at += isNext ? 1 : 0;
        return isNext;
    }

    private boolean expect(char c) {
        if (!skip(c)) {
            throw wrong();
        }
        return true;
    }

    /** Skips the comma before another item, or the end. */
    private boolean hasMore(char end) { return skip(',') || !expect(end); }

    private Object value(int depth) {
        if (depth > MAX_DEPTH) {
            throw wrong();
        }
        if (skip('{')) {
            Map<String, Object> object = new LinkedHashMap<>();
            for (boolean more = !skip('}'); more; more = hasMore('}')) {
                String name = string();
                expect(':');
                object.put(name, value(depth + 1));
            }
            return object;
        }
        if (skip('[')) {
            List<Object> array = new ArrayList<>();
            for (boolean more = !skip(']'); more; more = hasMore(']')) {
                array.add(value(depth + 1));
            }
            return array;
        }
        return next() == '"' ? string() : word();
    }

    private Object word() {
        int begin = at;
        while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(begin, at);
        if (word.equals("null")) {
            return null;
        }
        if (word.equals("true") || word.equals("false")) {
            return Boolean.valueOf(word);
        }
        if (!word.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?")) {
            throw wrong();
        }
        if (word.matches("-?[0-9]{1,18}")) {
            return Long.valueOf(word);
        }
        return word.matches("-?[0-9]+") ? (Object) new BigDecimal(word) : (Object) Double.valueOf(word);
    }

    private String string() {
        StringBuilder built = new StringBuilder();
        expect('"');
        while (at < text.length()) {
            char c = text.charAt(at++);
            if (c == '"') {
                return built.toString();
            }
            if (c == '\\' && at < text.length()) {
                c = text.charAt(at++);
                int escape = "bfnrt".indexOf(c);
                if (c == 'u' && at + 4 <= text.length()) {
                    c = (char) Integer.parseInt(text.substring(at, at += 4), 16);
                } else if (escape >= 0) {
                    c = "\b\f\n\r\t".charAt(escape);
                }
            }
            built.append(c);
        }
        throw wrong();
    }

    static Object to(Type type, Object value) {
        if (value == null || type == Object.class) {
            return value;
        }
        if (type instanceof ParameterizedType generic) {
            Type item = generic.getActualTypeArguments()[generic.getActualTypeArguments().length - 1];
            if (value instanceof Map<?, ?> object) {
                Map<String, Object> made = new LinkedHashMap<>();
                object.forEach((name, member) -> made.put((String) name, to(item, member)));
                return made;
            }
            return ((List<?>) value).stream().map(each -> to(item, each)).toList();
        }
        if (value instanceof Number number) {
            return type == Integer.class ? (Object) number.intValue() : type == Double.class ? (Object) number.doubleValue() : (Object) number.longValue();
        }
        return ((Class<?>) type).isRecord() ? record((Class<?>) type, (Map<?, ?>) value) : value;
    }

    private static Object record(Class<?> type, Map<?, ?> members) {
        RecordComponent[] components = type.getRecordComponents();
        Class<?>[] types = Stream.of(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
        Object[] values = Stream.of(components).map(each -> to(each.getGenericType(), members.get(name(each)))).toArray();
        try {
            return type.getDeclaredConstructor(types).newInstance(values);
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException(error);
        }
    }

    /** Names that Java does not allow have a `_` in front. */
    private static String name(RecordComponent component) { return component.getName().replaceFirst("^_", ""); }

    /** Returns the JSON of a value. Members of records that are null are left out. */
    public static String write(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Number) {
            return String.valueOf(value);
        }
        if (value instanceof Duration duration) {
            return BigDecimal.valueOf(duration.toMillis(), 3).toPlainString();
        }
        if (value instanceof Collection<?> items) {
            return items.stream().map(Json::write).collect(Collectors.joining(",", "[", "]"));
        }
        if (value instanceof Map<?, ?> || value instanceof Record) {
            Map<?, ?> members = value instanceof Record record ? members(record) : (Map<?, ?>) value;
            return members.entrySet().stream().map(member -> quote(member.getKey().toString()) + ":" + write(member.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        return quote(value.toString()); // a text, or a time
    }

    private static Map<String, Object> members(Record value) {
        Map<String, Object> members = new LinkedHashMap<>();
        try {
            for (RecordComponent component : value.getClass().getRecordComponents()) {
                Object member = component.getAccessor().invoke(value);
                if (member != null) {
                    members.put(name(component), member);
                }
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException(error);
        }
        return members;
    }

    private static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            out.append(c < 0x20 ? String.format("\\u%04x", (int) c) : c == '"' || c == '\\' ? "\\" + c : String.valueOf(c));
        }
        return out.append('"').toString();
    }
}
