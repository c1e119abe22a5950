package duepost;

import duepost.DuepostException.BadSignature;
import duepost.DuepostException.BadSignature.Reason;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Verifies requests of duepost. */
public final class Webhook {
    private Webhook() {}

    /**
     * A request of duepost. The signature covers `id`, `timestamp` and `body`, and nothing else. `id` is the same in all attempts of a job; to
     * detect repeats, compare it together with `round`.
     */
    public record Delivery(String id, Instant timestamp, byte[] body, String topic, String jobId, int attempt, int round, String token, String endUrl) {
        /** Returns the body as a record or, for Object, as a map, list, text or number. */
        public <T> T json(Class<T> type) {
            return Json.read(new String(body, StandardCharsets.UTF_8), type);
        }
    }

    /** headers: of the JDK's server, for example. secrets: one `whsec_...`, or several while keys are rotated. */
    public static Delivery verify(byte[] body, Map<String, List<String>> headers, String... secrets) {
        return verify(body, headers, List.of(secrets), Duration.ofMinutes(5), Instant.now());
    }

    public static Delivery verify(byte[] body, Map<String, List<String>> headers, Collection<String> secrets, Duration tolerance, Instant now) {
        Map<String, String> found = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        headers.forEach((name, values) -> {
            if (name != null && !values.isEmpty()) {
                found.put(name, values.get(0));
            }
        });
        String id = found.getOrDefault("webhook-id", "");
        String at = found.getOrDefault("webhook-timestamp", "");
        String signatures = found.getOrDefault("webhook-signature", "");
        if (id.isEmpty() || at.isEmpty() || signatures.isEmpty()) {
            throw new BadSignature(Reason.MISSING);
        }
        if (!at.matches("[0-9]{1,12}")) {
            throw new BadSignature(Reason.TIMESTAMP);
        }
        Instant timestamp = Instant.ofEpochSecond(Long.parseLong(at));
        Duration age = Duration.between(timestamp, now);
        if (age.abs().compareTo(tolerance) > 0) {
            throw new BadSignature(age.isNegative() ? Reason.TOO_NEW : Reason.TOO_OLD);
        }
        boolean isSigned = false;
        for (String secret : secrets) {
            byte[] expected = sign(secret, id + "." + at + ".", body);
            for (String each : signatures.split(" ")) {
                isSigned |= MessageDigest.isEqual(expected, each.getBytes(StandardCharsets.UTF_8));
            }
        }
        if (!isSigned) {
            throw new BadSignature(Reason.SIGNATURE);
        }
        String jobId = URLDecoder.decode(found.getOrDefault("Duepost-Job-Id", "").replace("+", "%2B"), StandardCharsets.UTF_8);
        return new Delivery(id, timestamp, body, found.getOrDefault("Duepost-Topic", ""), jobId, number(found.get("Duepost-Attempt")),
                number(found.get("Duepost-Round")), found.get("Duepost-Token"), found.get("Duepost-End-Url"));
    }

    private static int number(String text) { return text != null && text.matches("[0-9]{1,6}") ? Integer.parseInt(text) : 1; }

    private static byte[] sign(String secret, String head, byte[] body) {
        if (!secret.startsWith("whsec_") || secret.length() < 10) {
            throw new IllegalArgumentException("a secret must be whsec_ and base64");
        }
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.substring(6)), "HmacSHA256"));
            mac.update(head.getBytes(StandardCharsets.UTF_8));
            return ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }
}
