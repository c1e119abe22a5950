import com.sun.net.httpserver.HttpServer;
import duepost.Duepost;
import duepost.DuepostException;
import duepost.DuepostException.BadSignature;
import duepost.DuepostException.BadSignature.Reason;
import duepost.Json;
import duepost.Webhook;
import duepost.Webhook.Delivery;
import duepost.generated.Models.Job;
import duepost.generated.Models.NewJob;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** Tests the client against the server whose url is the argument. */
public class ClientTest {
    static final String SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    static String url;
    static Duepost client;

    static void check(boolean isTrue, Object... words) {
        if (!isTrue) {
            throw new AssertionError(List.of(words).toString());
        }
    }

    static void equal(Object expected, Object actual) {
        check(expected.equals(actual), "expected", expected, "not", String.valueOf(actual));
    }

    static <E extends Exception> E fails(Class<E> type, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException error) {
            check(type.isInstance(error), type, "expected, not", error);
            return type.cast(error);
        }
        throw new AssertionError(type + " expected");
    }

    static NewJob.Builder job(String topic) {
        return new NewJob.Builder().topic(topic).url("http://127.0.0.1:9/").delay("1h");
    }

    /** Passes bytes on to the server. The first `swallow` connections are closed when an answer comes. */
    static String proxy(AtomicInteger swallow) throws IOException {
        ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        URI target = URI.create(url);
        start(() -> {
            while (true) {
                Socket near = listener.accept();
                Socket far = new Socket(target.getHost(), target.getPort());
                start(() -> near.getInputStream().transferTo(far.getOutputStream()));
                start(() -> {
                    byte[] bytes = new byte[65536];
                    for (int n; (n = far.getInputStream().read(bytes)) > 0 && swallow.getAndDecrement() <= 0; ) {
                        near.getOutputStream().write(bytes, 0, n);
                    }
                    near.close();
                    far.close();
                    return null;
                });
            }
        });
        return "http://127.0.0.1:" + listener.getLocalPort();
    }

    static void start(java.util.concurrent.Callable<?> work) {
        Thread thread = new Thread(() -> {
            try {
                work.call();
            } catch (Exception closed) {
                // the other side has closed the connection
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    static HttpServer serve(com.sun.net.httpserver.HttpHandler handler) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", handler);
        server.start();
        return server;
    }

    static void lostAnswers() throws Exception {
        Duepost over = new Duepost(proxy(new AtomicInteger(2)), null);
        String id = over.schedule(job("lost").body(Map.of("order", 1041)).build()).jobId();
        equal(List.of(id), client.list(Map.of("topic", "lost")).map(Job::jobId).toList());
        equal(Map.of("order", 1041L), client.get("lost", id).body());
    }

    static void answersThatAskForPatience() throws Exception {
        List<Long> times = new ArrayList<>();
        List<String> keys = new ArrayList<>();
        HttpServer answering = serve(exchange -> {
            times.add(System.nanoTime());
            keys.add(exchange.getRequestHeaders().getFirst("Idempotency-Key") + exchange.getRequestHeaders().getFirst("Authorization"));
            byte[] body = (times.size() < 3 ? "{\"detail\": \"d\"}" : times.size() == 3 ? "{\"jobId\": \"1\"}" : "{}").getBytes();
            exchange.getResponseHeaders().set("Retry-After", "1");
            exchange.sendResponseHeaders(new int[] {429, 503, 201, 507}[times.size() - 1], body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        Duepost patient = new Duepost("http://127.0.0.1:" + answering.getAddress().getPort(), "secret");
        equal("1", patient.schedule(job("a").build()).jobId());
        check(times.get(2) - times.get(0) >= 2_000_000_000L, times);
        check(keys.get(0).equals(keys.get(2)) && keys.get(0).endsWith("Bearer secret"), keys);
        equal(507, fails(DuepostException.Problem.class, () -> patient.schedule(job("a").build())).status);
        equal(4, times.size());
        answering.stop(0);
    }

    static void manyJobs() throws Exception {
        Duepost over = new Duepost(proxy(new AtomicInteger(1)), null);
        List<NewJob> jobs = new ArrayList<>(IntStream.range(0, 2500).mapToObj(n -> job("many").body(n).build()).toList());
        jobs.set(1234, job("many").url("ftp://x").build());
        List<Duepost.Result> results = over.scheduleMany(jobs).toList();
        equal(List.of(1234), IntStream.range(0, 2500).filter(i -> results.get(i).problem() != null).boxed().toList());
        check(results.get(1234).problem() instanceof DuepostException.Invalid, results.get(1234));
        equal(2000L, client.get("many", results.get(2000).job().jobId()).body());
        equal(2499L, client.list(Map.of("topic", "many", "limit", 1000)).count());
        equal(List.of(201, 413, 201), client.scheduleMany(List.of(job("large").body("x".repeat(500_000)).build(), job("large").body("x".repeat(1_100_000)).build(),
                job("large").body("é\n\"").build())).map(result -> result.problem() == null ? result.job().status() : (Object) result.problem().status).toList());
    }

    static void problems() {
        fails(DuepostException.NotFound.class, () -> client.get("none", "a/b"));
        equal(1, fails(DuepostException.Invalid.class, () -> client.schedule(job("bad").retry(-1).build())).errors().size());
        client.schedule(job("bad").jobId("a/b").build());
        equal("delayed", fails(DuepostException.Conflict.class, () -> client.schedule(job("bad").jobId("a/b").priority(9).build())).members.get("state"));
        equal("cancelled", client.cancel("bad", "a/b").state());
        fails(DuepostException.ConnectionFailed.class, () -> new Duepost("http://127.0.0.1:1", null, HttpClient.newHttpClient(), Duration.ofSeconds(1), 2).get("a", "b"));
    }

    static void deliveries() throws Exception {
        BlockingQueue<Delivery> came = new LinkedBlockingQueue<>();
        HttpServer receiver = serve(exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            try {
                came.add(Webhook.verify(body, exchange.getRequestHeaders(), "whsec_AAAA", SECRET));
                exchange.sendResponseHeaders(204, -1);
            } catch (BadSignature error) {
                exchange.sendResponseHeaders(401, -1);
            }
            exchange.close();
        });
        client.request("PUT", "/topics/signed", Map.of(), Map.of("secrets", List.of(SECRET), "retention", "1h", "retrySchedule", List.of()));
        client.request("PUT", "/topics/forged", Map.of(), Map.of("secrets", List.of("whsec_plJ3nmyCDGBKInavdOK15jslAAAAAAAA"), "retention", "1h", "retrySchedule", List.of()));
        String to = "http://127.0.0.1:" + receiver.getAddress().getPort() + "/";
        Job done = client.scheduleAndWait(job("signed").jobId("a/b +c").url(to).delay(0).body(Map.of("n", 1)).build(), Duration.ofSeconds(30));
        equal("delivered", done.state());
        Delivery delivery = came.poll(1, TimeUnit.SECONDS);
        equal(List.of("signed", "a/b +c", 1), List.of(delivery.topic(), delivery.jobId(), delivery.attempt()));
        equal(Map.of("n", 1L), delivery.json(Object.class));
        client.schedule(job("forged").jobId("1").url(to).delay(0).build());
        equal("dead", client.get("forged", "1", Duration.ofSeconds(30)).state());
        receiver.stop(0);
    }

    static Reason refused(String body, String signature, long now, String... secrets) {
        Map<String, List<String>> headers = Map.of("Webhook-Id", List.of("msg_p5jXN8AQM9LWM0D4loKWxJek"), "Webhook-Timestamp", List.of("1614265330"),
                "Webhook-Signature", List.of(signature));
        try {
            Webhook.verify(body.getBytes(StandardCharsets.UTF_8), headers, List.of(secrets), Duration.ofMinutes(5), Instant.ofEpochSecond(now));
            return null;
        } catch (BadSignature error) {
            return error.reason;
        }
    }

    static void signatures() {
        String body = "{\"test\": 2432232314}", other = "whsec_plJ3nmyCDGBKInavdOK15jsl", signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        check(refused(body, "v1a,AAAA " + signature, 1614265330, other, SECRET) == null, "vector");
        equal(Reason.SIGNATURE, refused(body, signature, 1614265330, other));
        equal(Reason.SIGNATURE, refused(body + " ", signature, 1614265330, SECRET));
        equal(Reason.TOO_OLD, refused(body, signature, 1614265631, SECRET));
        equal(Reason.TOO_NEW, refused(body, signature, 1614265029, SECRET));
        equal(Reason.MISSING, refused(body, "", 1614265330, SECRET));
        fails(IllegalArgumentException.class, () -> refused(body, signature, 1614265330, "plain"));
    }

    static void json() {
        String text = "{\"a\":[1,-2.5,1.0E30,true,null,\"\\u00e9\\n\\\"\\\\/\"],\"b\":{},\"c\":[],\"d\":123456789012345678901234567890}";
        Object value = Json.read(" " + text.replace(",", " ,\n") + " ");
        equal(value, Json.read(Json.write(value)));
        for (String wrong : List.of("", "{", "[1,]", "{\"a\" 1}", "[1}", "01", "1 2", "\"", "tru", "[".repeat(600))) {
            fails(IllegalArgumentException.class, () -> Json.read(wrong));
        }
    }

    public static void main(String[] arguments) throws Exception {
        url = arguments[0];
        client = new Duepost(url, null);
        int status = 1;
        try {
            json();
            signatures();
            problems();
            lostAnswers();
            answersThatAskForPatience();
            manyJobs();
            deliveries();
            status = 0;
        } catch (Throwable error) {
            error.printStackTrace();
        }
        System.exit(status); // also while threads of a server run
    }
}
