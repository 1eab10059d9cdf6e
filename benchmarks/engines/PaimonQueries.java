import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.TableRead;
import org.apache.paimon.types.RowType;

/**
 * The real Apache Paimon reads a table of whole numbers and text: conditions in JSON per line in, rows in JSON per line
 * out. Splits are read side by side by as many threads as there are cores.
 */
public class PaimonQueries {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Options options = new Options();
        options.set("warehouse", arguments[0]);
        Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options));
        Table table = catalog.getTable(Identifier.fromString(arguments[1]));
        ExecutorService threads = Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(JSON.writeValueAsString(rows(table, JSON.readTree(line), threads)));
        }
        threads.shutdown();
    }

    private static List<Object[]> rows(Table table, JsonNode conditions, ExecutorService threads) throws Exception {
        RowType type = table.rowType();
        ReadBuilder builder = table.newReadBuilder().withFilter(filter(conditions, type));
        List<Future<List<Object[]>>> parts = new ArrayList<>();
        for (Split split : builder.newScan().plan().splits()) {
            parts.add(threads.submit(() -> rows(builder.newRead().executeFilter(), split, type)));
        }
        List<Object[]> found = new ArrayList<>();
        for (Future<List<Object[]>> part : parts) {
            found.addAll(part.get());
        }
        return found;
    }

    private static List<Object[]> rows(TableRead read, Split split, RowType type) throws Exception {
        List<InternalRow.FieldGetter> getters = new ArrayList<>();
        for (int i = 0; i < type.getFieldCount(); i++) {
            getters.add(InternalRow.createFieldGetter(type.getTypeAt(i), i));
        }
        List<Object[]> found = new ArrayList<>();
        try (RecordReaderIterator<InternalRow> records = new RecordReaderIterator<>(read.createReader(split))) {
            while (records.hasNext()) {
                InternalRow row = records.next();
                found.add(getters.stream().map(getter -> plain(getter.getFieldOrNull(row))).toArray());
            }
        }
        return found;
    }

    private static Object plain(Object value) {
        return value instanceof BinaryString ? value.toString() : value;
    }

    private static Predicate filter(JsonNode conditions, RowType type) {
        PredicateBuilder builder = new PredicateBuilder(type);
        List<Predicate> each = new ArrayList<>();
        for (JsonNode condition : conditions) {
            int column = type.getFieldIndex(condition.get("column").asText());
            List<Object> values = new ArrayList<>();
            condition.get("values").forEach(v ->
                    values.add(v.isTextual() ? BinaryString.fromString(v.asText()) : (Object) v.asLong()));
            switch (condition.get("op").asText()) {
                case "=":
                    each.add(builder.equal(column, values.get(0)));
                    break;
                case "in":
                    each.add(builder.in(column, values));
                    break;
                case "between":
                    each.add(builder.between(column, values.get(0), values.get(1)));
                    break;
                default:
                    throw new IllegalArgumentException("unknown condition " + condition);
            }
        }
        return PredicateBuilder.and(each);
    }
}
