import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.Map;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.rest.RESTCatalogServer;
import org.apache.paimon.rest.auth.BearTokenAuthProvider;
import org.apache.paimon.rest.responses.ConfigResponse;

/**
 * Servers of Paimon's own tests of its REST catalog. Each line of the input is a step, whose words are separated by tabs;
 * the process ends with its input.
 */
public final class RestServers {
    private static final Map<String, RESTCatalogServer> SERVERS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader steps = new BufferedReader(new InputStreamReader(System.in));
        PrintStream answers = System.out;
        System.setOut(System.err); // the servers print there
        answers.println("ready");
        for (String line = steps.readLine(); line != null; line = steps.readLine()) {
            answers.println(perform(line.split("\t")));
        }
        System.exit(0);
    }

    private static String perform(String[] step) throws IOException {
        switch (step[0]) {
            case "open":
                return open(step);
            case "fail_after_commit":
                RESTCatalogServer.commitSuccessThrowException = true;
                return "done";
            case "forbid_table":
                SERVERS.get(step[1]).addNoPermissionTable(Identifier.fromString(step[2]));
                return "done";
            default:
                throw new IllegalArgumentException(step[0]);
        }
    }

    /** Name of the warehouse, its directory, token, and options that the server gives to its clients. */
    private static String open(String[] step) throws IOException {
        Map<String, String> options = new HashMap<>();
        for (int i = 4; i < step.length; i += 2) {
            options.put(step[i], step[i + 1]);
        }
        ConfigResponse config = new ConfigResponse(options, new HashMap<>());
        RESTCatalogServer server =
                new RESTCatalogServer(step[2], new BearTokenAuthProvider(step[3]), config, step[1]);
        server.start();
        SERVERS.put(step[1], server);
        return server.getUrl();
    }
}
