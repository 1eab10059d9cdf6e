import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.rest.RESTCatalogServer;
import org.apache.paimon.rest.auth.BearTokenAuthProvider;
import org.apache.paimon.rest.responses.ConfigResponse;

/**
 * The server of Paimon's own tests of its REST catalog: directory, name of the warehouse, token, options that it gives to
 * clients. Each line of its input is a step; it ends with its input.
 */
public final class RestServer {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int i = 3; i < arguments.length; i += 2) {
            options.put(arguments[i], arguments[i + 1]);
        }
        RESTCatalogServer server = new RESTCatalogServer(
                arguments[0],
                new BearTokenAuthProvider(arguments[2]),
                new ConfigResponse(options, new HashMap<>()),
                arguments[1]);
        server.start();
        System.out.println("ready " + server.getUrl());
        BufferedReader steps = new BufferedReader(new InputStreamReader(System.in));
        for (String line = steps.readLine(); line != null; line = steps.readLine()) {
            String[] step = line.split(" ");
            switch (step[0]) {
                case "fail_after_commit":
                    RESTCatalogServer.commitSuccessThrowException = true;
                    break;
                case "forbid_database":
                    server.addNoPermissionDatabase(step[1]);
                    break;
                case "forbid_table":
                    server.addNoPermissionTable(Identifier.fromString(step[1]));
                    break;
                default:
                    throw new IllegalArgumentException(line);
            }
            System.out.println("done");
        }
        System.exit(0);
    }
}
