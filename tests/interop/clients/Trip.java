// Schedules, reads and cancels a job with the client that openapi-generator made: Trip BASE_URL.
import java.math.BigDecimal;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.JobsApi;
import org.openapitools.client.model.CancelJob200Response;
import org.openapitools.client.model.Duration;
import org.openapitools.client.model.Job;
import org.openapitools.client.model.NewJob;
import org.openapitools.client.model.Placed;

public class Trip {
    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(arguments[0]);
        JobsApi jobs = new JobsApi(client);
        NewJob job = new NewJob().topic("made").jobId("java").url("http://127.0.0.1:9/").delay(new Duration(3600.5));
        Placed scheduled = jobs.scheduleJob(job, null, null, null, null);
        Job found = jobs.readJob("made", "java", null, null, null);
        CancelJob200Response cancelled = jobs.cancelJob("made", "java", null, null);
        if (!scheduled.getDueAt().equals(found.getDueAt()) || found.getDelay() != 3600.5 || cancelled.getAttemptInFlight()) {
            throw new IllegalStateException(found.toString());
        }
    }
}
