package duepost;

import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;

/** The errors of the client. */
@SuppressWarnings("serial")
public abstract sealed class DuepostException extends RuntimeException {
    DuepostException(String message, Throwable cause) { super(message, cause); }

    /** No answer came, also after all tries. Whether the request has been carried out is unknown, unless the connection was refused. */
    public static final class ConnectionFailed extends DuepostException {
        ConnectionFailed(String message, Throwable cause) { super(message, cause); }
    }

    /** A request is not from duepost. */
    public static final class BadSignature extends DuepostException {
        public enum Reason { MISSING, TIMESTAMP, TOO_OLD, TOO_NEW, SIGNATURE }

        public final Reason reason;

        BadSignature(Reason reason) {
            super("the request is not from duepost: " + reason, null);
            this.reason = reason;
        }
    }

    /** An answer of the server with an error. `members` has all members of its application/problem+json. */
    public static sealed class Problem extends DuepostException {
        public final int status;
        public final String detail;
        public final transient Map<?, ?> members;
        /** Seconds, or 0. */
        public final long retryAfter;

        Problem(int status, Map<?, ?> members, long retryAfter) {
            super(status + ": " + members.get("detail") + (members.containsKey("errors") ? " " + Json.write(members.get("errors")) : ""), null);
            this.status = status;
            this.detail = String.valueOf(members.get("detail"));
            this.members = members;
            this.retryAfter = retryAfter;
        }

        /** Returns the faults of an invalid document: maps with `field` and `detail`. */
        public List<?> errors() {
            return members.get("errors") instanceof List<?> errors ? errors : List.of();
        }

        static Problem of(HttpResponse<String> answer) {
            Map<?, ?> members = Map.of("detail", answer.body().substring(0, Math.min(answer.body().length(), 1000))); // of a proxy
            try {
                members = Json.read(answer.body()) instanceof Map<?, ?> document ? document : members;
            } catch (IllegalArgumentException notJson) {
                // stays the text
            }
            String after = answer.headers().firstValue("Retry-After").orElse("");
            return of(answer.statusCode(), members, after.matches("[0-9]{1,9}") ? Long.parseLong(after) : 0);
        }

        static Problem of(int status, Map<?, ?> members, long retryAfter) {
            return switch (status) {
                case 400, 413, 415, 422 -> new Invalid(status, members, retryAfter);
                case 401 -> new Unauthorized(status, members, retryAfter);
                case 403 -> new Forbidden(status, members, retryAfter);
                case 404 -> new NotFound(status, members, retryAfter);
                case 409, 412 -> new Conflict(status, members, retryAfter);
                case 429 -> new TooMany(status, members, retryAfter);
                case 503 -> new Unavailable(status, members, retryAfter);
                default -> new Problem(status, members, retryAfter);
            };
        }
    }

    public static final class Invalid extends Problem { Invalid(int status, Map<?, ?> members, long retryAfter) { super(status, members, retryAfter); } }
    public static final class Unauthorized extends Problem { Unauthorized(int status, Map<?, ?> members, long retryAfter) { super(status, members, retryAfter); } }
    public static final class Forbidden extends Problem { Forbidden(int status, Map<?, ?> members, long retryAfter) { super(status, members, retryAfter); } }
    public static final class NotFound extends Problem { NotFound(int status, Map<?, ?> members, long retryAfter) { super(status, members, retryAfter); } }
    public static final class Conflict extends Problem { Conflict(int status, Map<?, ?> members, long retryAfter) { super(status, members, retryAfter); } }
    public static final class TooMany extends Problem { TooMany(int status, Map<?, ?> members, long retryAfter) { super(status, members, retryAfter); } }
    public static final class Unavailable extends Problem { Unavailable(int status, Map<?, ?> members, long retryAfter) { super(status, members, retryAfter); } }
}
