package duepost;

import duepost.DuepostException.ConnectionFailed;
import duepost.DuepostException.Invalid;
import duepost.DuepostException.Problem;
import duepost.generated.Models.*;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.*;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.*;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A client of one server. It may be used by several threads. Its errors are a DuepostException. */
public final class Duepost {
    private static final int CHUNK_JOBS = 1000;
    private static final int CHUNK_BYTES = 1 << 20; // the server takes more in an array, but only few such arrays at once
    private static final String SAFE = "";
    private static final long MAX_WAIT_MS = 60_000; // a longer Retry-After counts as this

    private final String url;
    private final Map<String, String> headers;
    private final HttpClient http;
    private final Duration timeout;
    private final int tries;

    /** The server and the token are those of the environment, as for the command line: DUEPOST_SERVER and DUEPOST_TOKEN. */
    public Duepost() {
        this(System.getenv().getOrDefault("DUEPOST_SERVER", "http://127.0.0.1:7700"), System.getenv("DUEPOST_TOKEN"));
    }

    /** token: may be null. */
    public Duepost(String url, String token) {
        this(url, token, HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(10)).build(),
                Duration.ofSeconds(30), 4);
    }

    /** tries: how often a request is sent at most. */
    public Duepost(String url, String token, HttpClient http, Duration timeout, int tries) {
        this.url = url.replaceFirst("/+$", "");
        this.headers = token == null ? Map.of() : Map.of("Authorization", "Bearer " + token);
        this.http = http;
        this.timeout = timeout;
        this.tries = tries;
    }

    /** The result of one job of scheduleMany: one of both is null. */
    public record Result(JobResult job, Problem problem) {}

    /** Schedules a job, once, however often its answer is lost. */
    public Placed schedule(NewJob job) { return schedule(job, keyFor(job)); }

    public Placed schedule(NewJob job, String idempotencyKey) {
        return Json.read(send("POST", "/jobs", Map.of(), Json.write(job), idempotencyKey, Duration.ZERO), Placed.class);
    }

    /** Schedules a job and waits for its end, at most for this time; `state` says whether it came. */
    public Job scheduleAndWait(NewJob job, Duration wait) {
        return Json.read(send("POST", "/jobs", waiting(wait), Json.write(job), keyFor(job), wait), Job.class);
    }

    /**
     * Schedules jobs in arrays, while the stream is read, and gives a result for each, in their order. Each job gets an `idempotencyKey`, so that an
     * array whose answer was lost can be sent again.
     */
    public Stream<Result> scheduleMany(Iterable<NewJob> jobs) {
        Iterator<NewJob> source = jobs.iterator();
        List<String> kept = new ArrayList<>(); // at most one job, which the last array had no room for
        return pages(() -> {
            List<String> chunk = new ArrayList<>(kept);
            int bytes = kept.isEmpty() ? 0 : size(kept.get(0));
            kept.clear();
            while (chunk.size() < CHUNK_JOBS && source.hasNext() && kept.isEmpty()) {
                String text = withKey(source.next());
                bytes += size(text);
                (bytes > CHUNK_BYTES && !chunk.isEmpty() ? kept : chunk).add(text);
            }
            return chunk.isEmpty() ? null : scheduleChunk(chunk);
        });
    }

    private static String keyFor(NewJob job) { return job.idempotencyKey() == null ? UUID.randomUUID().toString() : SAFE; }

    private static int size(String text) { return text.getBytes(StandardCharsets.UTF_8).length + 1; }

    private static String withKey(NewJob job) {
        String text = Json.write(job);
        boolean needsKey = job.idempotencyKey() == null && job.debounce() == null;
        return needsKey ? text.replaceFirst("^\\{", "{\"idempotencyKey\":\"" + UUID.randomUUID() + "\",") : text;
    }

    private List<Result> scheduleChunk(List<String> chunk) {
        Result[] results = new Result[chunk.size()];
        List<Integer> left = IntStream.range(0, results.length).boxed().toList();
        for (int trial = 1; !left.isEmpty(); trial++) {
            Map<?, ?> answer;
            try {
                String array = left.stream().map(chunk::get).collect(Collectors.joining(",", "[", "]"));
                answer = (Map<?, ?>) Json.read(send("POST", "/jobs", Map.of(), array, SAFE, Duration.ZERO));
            } catch (Invalid problem) { // the array as a whole: look for the job that is the reason
                return chunk.size() == 1 ? List.of(new Result(null, problem)) : Stream.of(
                        chunk.subList(0, chunk.size() / 2), chunk.subList(chunk.size() / 2, chunk.size())).flatMap(half -> scheduleChunk(half).stream()).toList();
            }
            List<Integer> again = new ArrayList<>();
            long waitMs = backoffMs(trial);
            for (int i = 0; i < left.size(); i++) {
                Map<?, ?> members = (Map<?, ?>) ((List<?>) answer.get("results")).get(i);
                int status = ((Number) members.get("status")).intValue();
                long retryAfter = members.get("retryAfter") instanceof Number seconds ? seconds.longValue() : 0;
                results[left.get(i)] = status < 300
                        ? new Result((JobResult) Json.to(JobResult.class, members), null) : new Result(null, Problem.of(status, members, retryAfter));
                if ((status == 429 || status == 503) && trial < tries) { // no room
                    again.add(left.get(i));
                    waitMs = Math.max(waitMs, retryAfter * 1000);
                }
            }
            left = again;
            if (!left.isEmpty()) {
                sleep(waitMs);
            }
        }
        return List.of(results);
    }

    public Job get(String topic, String jobId) {
        return Json.read(send("GET", path(topic, jobId), Map.of(), null, null, Duration.ZERO), Job.class);
    }

    /** Reads a job when it has ended, or after this time, at most 60 s. */
    public Job get(String topic, String jobId, Duration wait) {
        return Json.read(send("GET", path(topic, jobId), waiting(wait), null, null, wait), Job.class);
    }

    /** Cancels a job. After that, no attempt begins. */
    public CancelJob200Response cancel(String topic, String jobId) {
        return Json.read(send("DELETE", path(topic, jobId), Map.of(), null, null, Duration.ZERO), CancelJob200Response.class);
    }

    /** Lists jobs page by page, while the stream is read. query: as in the contract, for example Map.of("topic", "orders", "state", "dead"). */
    public Stream<Job> list(Map<String, ?> query) {
        Map<String, Object> next = new HashMap<>(query);
        return pages(() -> {
            if (next.containsKey("cursor") && next.get("cursor") == null) {
                return null; // after the last page
            }
            JobList page = Json.read(send("GET", "/jobs", next, null, null, Duration.ZERO), JobList.class);
            next.put("cursor", page.cursor());
            return page.jobs();
        });
    }

    /** Sends any request of the contract, and returns its answer. body: JSON, or null. */
    public Object request(String method, String path, Map<String, ?> query, Object body) {
        return Json.read(send(method, path, query, body == null ? null : Json.write(body), null, Duration.ZERO));
    }

    private static <T> Stream<T> pages(Supplier<List<T>> next) { return Stream.generate(next).takeWhile(Objects::nonNull).flatMap(List::stream); }

    private static String path(String topic, String jobId) { return "/jobs/" + encode(topic) + "/" + encode(jobId); }

    private static String encode(Object text) { return URLEncoder.encode(text.toString(), StandardCharsets.UTF_8).replace("+", "%20"); }

    private static Map<String, String> waiting(Duration wait) { return Map.of("wait", wait.toMillis() + "ms"); }

    private static long backoffMs(int trial) { return (long) (ThreadLocalRandom.current().nextDouble(0.5, 1) * Math.min(250L << Math.min(trial, 6), 15_000)); }

    private static void sleep(long ms) {
        try {
            Thread.sleep(Math.min(ms, MAX_WAIT_MS));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new ConnectionFailed("interrupted", error);
        }
    }

    /** Sends a request until it is answered. key: the Idempotency-Key; SAFE: none, but a POST may be repeated; null: none. */
    private String send(String method, String path, Map<String, ?> query, String body, String key, Duration wait) {
        String parameters = query.entrySet().stream().flatMap(entry -> (entry.getValue() instanceof Collection<?> values ? values : List.of(entry.getValue()))
                .stream().map(value -> encode(entry.getKey()) + "=" + encode(value))).collect(Collectors.joining("&", "?", ""));
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path + (query.isEmpty() ? "" : parameters))).timeout(timeout.plus(wait))
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body)).header("Content-Type", "application/json");
        headers.forEach(request::header);
        if (key != null && !key.equals(SAFE)) {
            request.header("Idempotency-Key", key);
        }
        boolean isSafe = key != null || List.of("GET", "PUT", "DELETE").contains(method);
        boolean isLost = false; // the server may have carried out an earlier try, or may still do so
        for (int trial = 1; ; trial++) {
            long waitMs = backoffMs(trial);
            try {
                HttpResponse<String> answer = http.send(request.build(), BodyHandlers.ofString());
                if (answer.statusCode() < 300) {
                    return answer.body();
                }
                Problem problem = Problem.of(answer);
                boolean isRunning = problem.status == 409 && isLost && key != null && !problem.members.containsKey("state");
                if (trial >= tries || !(problem.status == 429 || isSafe && problem.status == 503 || isRunning)) {
                    throw problem;
                }
                waitMs = Math.max(waitMs, problem.retryAfter * 1000);
            } catch (IOException error) {
                boolean isSent = !(error instanceof ConnectException || error instanceof HttpConnectTimeoutException);
                isLost |= isSent;
                if (trial >= tries || isSent && !isSafe) {
                    throw new ConnectionFailed(method + " " + url + path + ": " + error, error);
                }
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new ConnectionFailed("interrupted", error);
            }
            sleep(waitMs);
        }
    }
}
