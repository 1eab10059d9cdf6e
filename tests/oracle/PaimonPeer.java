import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.FileSystemCatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.consumer.Consumer;
import org.apache.paimon.consumer.ConsumerManager;
import org.apache.paimon.crosspartition.GlobalIndexAssigner;
import org.apache.paimon.crosspartition.IndexBootstrap;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.ByteArraySeekableStream;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.SeekableInputStream;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.operation.PartitionExpire;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.FieldRef;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.RowKeyExtractor;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.EndOfScanException;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.table.source.TableRead;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.LocalZonedTimestampType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.TimestampType;
import org.apache.paimon.utils.ManifestReadThreadPool;

/**
 * The real Apache Paimon as a peer in tests: a request in JSON per line in, an answer in JSON per line out. One source
 * for every version that is tested against.
 */
public class PaimonPeer {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonNodeFactory NODES = JsonNodeFactory.withExactBigDecimals(true);
    private static final Map<String, Catalog> CATALOGS = new HashMap<>();

    /** One for all requests: each makes a directory, which only {@code close} deletes. */
    private static final IOManager SPILL = IOManager.create(System.getProperty("java.io.tmpdir"));

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            ObjectNode answer;
            try {
                keepFewThreads();
                answer = perform(JSON.readTree(line));
            } catch (Throwable failure) {
                failure.printStackTrace();
                answer = NODES.objectNode();
                answer.put("error", describe(failure));
            }
            answers.println(JSON.writeValueAsString(answer));
        }
        SPILL.close();
    }

    /**
     * All tables share the threads that read manifests. One table with a large {@code scan.manifest.parallelism} would
     * leave thousands of them, which take half of this process's CPU time.
     */
    private static void keepFewThreads() {
        ThreadPoolExecutor readers = (ThreadPoolExecutor) ManifestReadThreadPool.getExecutorService(null);
        readers.setCorePoolSize(Math.min(readers.getCorePoolSize(), 4));
    }

    private static String describe(Throwable failure) {
        StringBuilder text = new StringBuilder();
        for (Throwable t = failure; t != null && t != t.getCause(); t = t.getCause()) {
            text.append(text.length() == 0 ? "" : " <- ").append(t.getClass().getName()).append(": ").append(t.getMessage());
        }
        return text.toString();
    }

    private static ObjectNode perform(JsonNode request) throws Exception {
        switch (request.get("op").asText()) {
            case "create_table":
                return createTable(request);
            case "alter_table":
                return alterTable(request);
            case "snapshots":
                return snapshots(request);
            case "read":
                return read(request);
            case "changes":
                return changes(request);
            case "stream":
                return stream(request);
            case "write":
                return write(request);
            case "expire_partitions":
                return expirePartitions(request);
            case "compact":
                return compact(request);
            case "compact_append":
                return compactAppend(request);
            case "history":
                return history(request);
            case "kept":
                return kept(request);
            case "catalog":
                return catalogStep(request);
            case "views":
                return viewStep(request);
            default:
                throw new IllegalArgumentException("unknown operation " + request.get("op"));
        }
    }

    private static Catalog catalog(JsonNode request) {
        return CATALOGS.computeIfAbsent(request.get("warehouse").asText(), warehouse -> {
            Options options = new Options();
            options.set("warehouse", warehouse);
            options.set("cache-enabled", "false");
            texts(request.get("catalog")).forEach(options::set);
            CatalogContext context = CatalogContext.create(options);
            boolean isOnDisk = warehouse.startsWith("/") && !options.containsKey("metastore");
            return isOnDisk ? onDisk(warehouse, context) : CatalogFactory.createCatalog(context);
        });
    }

    /** The catalog that Paimon creates for a local directory, with faster access to its files. */
    private static Catalog onDisk(String warehouse, CatalogContext context) {
        Path path = new Path(warehouse);
        BufferedFiles files = new BufferedFiles();
        try {
            files.checkOrMkdirs(path);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return new FileSystemCatalogFactory().create(files, path, context);
    }

    /**
     * Paimon's local files, of which those in Avro are read at once. Avro searches the end of a header byte by byte, and
     * without a buffer each byte is a call of the operating system: two thirds of the time of a small scan.
     */
    private static final class BufferedFiles extends LocalFileIO {
        private static final long serialVersionUID = 1L;

        @Override
        public SeekableInputStream newInputStream(Path path) throws IOException {
            SeekableInputStream file = super.newInputStream(path);
            if (!path.getParent().getName().equals("manifest") && !path.getName().endsWith(".avro")) {
                return file;
            }
            try (file) {
                return new ByteArraySeekableStream(file.readAllBytes());
            }
        }
    }

    private static FileStoreTable table(JsonNode request) throws Exception {
        Table table = catalog(request).getTable(Identifier.fromString(request.get("table").asText()));
        return (FileStoreTable) table.copy(texts(request.get("options")));
    }

    private static Map<String, String> texts(JsonNode object) {
        Map<String, String> result = new TreeMap<>();
        if (object != null) {
            object.fields().forEachRemaining(e -> result.put(e.getKey(), e.getValue().asText()));
        }
        return result;
    }

    private static List<String> strings(JsonNode array) {
        List<String> result = new ArrayList<>();
        if (array != null) {
            array.forEach(item -> result.add(item.asText()));
        }
        return result;
    }

    private static ObjectNode createTable(JsonNode request) throws Exception {
        Identifier name = Identifier.fromString(request.get("table").asText());
        Schema.Builder schema = Schema.newBuilder();
        for (JsonNode column : request.get("columns")) {
            schema.column(column.get(0).asText(), DataTypeJsonParser.parseDataType(column.get(1)));
        }
        schema.primaryKey(strings(request.get("primary_keys")));
        schema.partitionKeys(strings(request.get("partition_keys")));
        schema.options(texts(request.get("options")));
        catalog(request).createDatabase(name.getDatabaseName(), true);
        catalog(request).createTable(name, schema.build(), false);
        return NODES.objectNode();
    }

    /** In a class of its own, which is compiled only for versions that know views. */
    private static ObjectNode viewStep(JsonNode request) throws Exception {
        Method perform = Class.forName("PaimonViews").getMethod("perform", Catalog.class, JsonNode.class);
        try {
            return (ObjectNode) perform.invoke(null, catalog(request), request);
        } catch (InvocationTargetException failure) {
            throw (Exception) failure.getCause();
        }
    }

    private static ObjectNode catalogStep(JsonNode request) throws Exception {
        List<String> step = strings(request.get("step"));
        Catalog catalog = catalog(request);
        List<String> names = new ArrayList<>();
        switch (step.get(0)) {
            case "create_database":
                catalog.createDatabase(step.get(1), false);
                break;
            case "drop_database":
                catalog.dropDatabase(step.get(1), false, true);
                break;
            case "drop_table":
                catalog.dropTable(Identifier.fromString(step.get(1)), false);
                break;
            case "rename_table":
                catalog.renameTable(Identifier.fromString(step.get(1)), Identifier.fromString(step.get(2)), false);
                break;
            case "databases":
                names.addAll(catalog.listDatabases());
                break;
            case "tables":
                names.addAll(catalog.listTables(step.get(1)));
                break;
            default:
                throw new IllegalArgumentException("unknown step " + step);
        }
        ObjectNode answer = NODES.objectNode();
        names.stream().sorted().forEach(answer.putArray("names")::add);
        return answer;
    }

    private static ObjectNode alterTable(JsonNode request) throws Exception {
        List<SchemaChange> changes = new ArrayList<>();
        texts(request.get("options")).forEach((key, value) -> changes.add(SchemaChange.setOption(key, value)));
        if (request.hasNonNull("changes")) {
            for (JsonNode change : request.get("changes")) {
                changes.add(columnChange(change));
            }
        }
        catalog(request).alterTable(Identifier.fromString(request.get("table").asText()), changes, false);
        return NODES.objectNode();
    }

    /** ``[kind, path, argument]``; version 0.9 has no paths into arrays and maps, so that methods are found by name. */
    private static SchemaChange columnChange(JsonNode change) throws Exception {
        String[] path = strings(change.get(1)).toArray(new String[0]);
        JsonNode argument = change.get(2);
        switch (change.get(0).asText()) {
            case "type":
                Class<?>[] types = {String[].class, DataType.class, boolean.class};
                return made("updateColumnType", types, path, DataTypeJsonParser.parseDataType(argument), true);
            case "nullable":
                Class<?>[] flags = {String[].class, boolean.class};
                return made("updateColumnNullability", flags, path, argument.asBoolean());
            case "add":
                Class<?>[] additions = {String[].class, DataType.class, String.class, SchemaChange.Move.class};
                return made("addColumn", additions, path, DataTypeJsonParser.parseDataType(argument), null, null);
            case "drop":
                return made("dropColumn", new Class<?>[] {String[].class}, (Object) path);
            case "rename":
                return made("renameColumn", new Class<?>[] {String[].class, String.class}, path, argument.asText());
            default:
                throw new IllegalArgumentException("unknown change " + change);
        }
    }

    private static SchemaChange made(String method, Class<?>[] types, Object... arguments) throws Exception {
        return (SchemaChange) SchemaChange.class.getMethod(method, types).invoke(null, arguments);
    }

    private static ObjectNode snapshots(JsonNode request) throws Exception {
        ObjectNode answer = NODES.objectNode();
        ArrayNode ids = answer.putArray("ids");
        Iterator<org.apache.paimon.Snapshot> all = table(request).snapshotManager().snapshots();
        List<Long> found = new ArrayList<>();
        all.forEachRemaining(snapshot -> found.add(snapshot.id()));
        found.stream().sorted().forEach(ids::add);
        return answer;
    }

    private static ObjectNode read(JsonNode request) throws Exception {
        FileStoreTable table = table(request);
        ReadBuilder builder = table.newReadBuilder();
        RowType type = builder.readType();
        if (request.hasNonNull("equal")) {
            builder.withFilter(equalities(request.get("equal"), type));
        }
        boolean filters = request.hasNonNull("filter");
        if (filters) {
            builder.withFilter(condition(request.get("filter"), new PredicateBuilder(type), type));
        }
        if (request.hasNonNull("limit")) {
            builder.withLimit(request.get("limit").asInt());
        }
        if (request.hasNonNull("first")) {
            withTopN(builder, request.get("first"), type);
        }
        ObjectNode answer = NODES.objectNode();
        ArrayNode columns = answer.putArray("columns");
        ArrayNode rows = answer.putArray("rows");
        type.getFieldNames().forEach(columns::add);
        int files = 0;
        int raw = 0;
        for (Split split : builder.newScan().plan().splits()) {
            if (split instanceof DataSplit) { // from 2.0 on, an index may name the rows of a file instead
                files += ((DataSplit) split).dataFiles().size();
                raw += ((DataSplit) split).rawConvertible() ? 1 : 0;
            }
            TableRead read = builder.newRead().withIOManager(SPILL);
            try (RecordReaderIterator<InternalRow> records =
                    new RecordReaderIterator<>((filters ? read.executeFilter() : read).createReader(split))) {
                while (records.hasNext()) {
                    rows.add(fromRow(records.next(), type));
                }
            }
        }
        answer.put("files", files);
        answer.put("raw_splits", raw);
        return answer;
    }

    /** ``[column, direction, order of nulls, count]``; version 0.9 has no such thing, so that it is found by name. */
    private static void withTopN(ReadBuilder builder, JsonNode first, RowType type) throws Exception {
        String sorting = "org.apache.paimon.predicate.SortValue$";
        @SuppressWarnings("unchecked")
        Class<Enum> direction = (Class<Enum>) Class.forName(sorting + "SortDirection");
        @SuppressWarnings("unchecked")
        Class<Enum> nulls = (Class<Enum>) Class.forName(sorting + "NullOrdering");
        Class<?> topN = Class.forName("org.apache.paimon.predicate.TopN");
        String column = first.get(0).asText();
        int at = type.getFieldIndex(column);
        Object wanted = topN.getConstructor(FieldRef.class, direction, nulls, int.class)
                .newInstance(
                        new FieldRef(at, column, type.getTypeAt(at)),
                        Enum.valueOf(direction, first.get(1).asText()),
                        Enum.valueOf(nulls, first.get(2).asText()),
                        first.get(3).asInt());
        ReadBuilder.class.getMethod("withTopN", topN).invoke(builder, wanted);
    }

    /** Columns with the values they are to have; what is read may hold other rows too. */
    private static Predicate equalities(JsonNode values, RowType type) {
        PredicateBuilder builder = new PredicateBuilder(type);
        List<Predicate> each = new ArrayList<>();
        values.fields().forEachRemaining(item -> {
            int column = type.getFieldIndex(item.getKey());
            each.add(builder.equal(column, toValue(item.getValue(), type.getTypeAt(column))));
        });
        return PredicateBuilder.and(each);
    }

    /** A condition as [operator, column, value...], or as ["and" or "or", condition...]. */
    private static Predicate condition(JsonNode node, PredicateBuilder builder, RowType type) {
        String operator = node.get(0).asText();
        if (operator.equals("and") || operator.equals("or")) {
            List<Predicate> parts = new ArrayList<>();
            IntStream.range(1, node.size()).forEach(i -> parts.add(condition(node.get(i), builder, type)));
            return operator.equals("and") ? PredicateBuilder.and(parts) : PredicateBuilder.or(parts);
        }
        int column = type.getFieldIndex(node.get(1).asText());
        List<Object> values = new ArrayList<>();
        IntStream.range(2, node.size()).forEach(i -> values.add(toValue(node.get(i), type.getTypeAt(column))));
        switch (operator) {
            case "=":
                return builder.equal(column, values.get(0));
            case "<>":
                return builder.notEqual(column, values.get(0));
            case "<":
                return builder.lessThan(column, values.get(0));
            case "<=":
                return builder.lessOrEqual(column, values.get(0));
            case ">":
                return builder.greaterThan(column, values.get(0));
            case ">=":
                return builder.greaterOrEqual(column, values.get(0));
            case "IN":
                return builder.in(column, values);
            case "NOT IN":
                return builder.notIn(column, values);
            case "IS NULL":
                return builder.isNull(column);
            case "IS NOT NULL":
                return builder.isNotNull(column);
            default:
                throw new IllegalArgumentException("unknown operator " + operator);
        }
    }

    /** A batch read of a table or system table, with the kind of each row. */
    private static ObjectNode changes(JsonNode request) throws Exception {
        Table table = catalog(request).getTable(Identifier.fromString(request.get("table").asText()));
        ReadBuilder builder = table.copy(texts(request.get("options"))).newReadBuilder();
        ObjectNode answer = NODES.objectNode();
        ArrayNode columns = answer.putArray("columns");
        ArrayNode types = answer.putArray("types");
        for (DataField field : builder.readType().getFields()) {
            columns.add(field.name());
            types.add(field.type().asSQLString());
        }
        addChanges(builder, builder.newScan().plan().splits(), answer.putArray("rows"));
        return answer;
    }

    /**
     * The plans of a streaming read that hold something, until it has come to the latest snapshot, or "most" of them.
     * With "acknowledge", its consumer has then read them.
     */
    private static ObjectNode stream(JsonNode request) throws Exception {
        FileStoreTable table = table(request);
        ReadBuilder builder = table.newReadBuilder();
        StreamTableScan scan = builder.newStreamScan();
        Long latest = table.snapshotManager().latestSnapshotId();
        int most = request.hasNonNull("most") ? request.get("most").asInt() : Integer.MAX_VALUE;
        ObjectNode answer = NODES.objectNode();
        ArrayNode plans = answer.putArray("plans");
        for (int i = 0; i < 200 && plans.size() < most; i++) {
            List<Split> splits = scan.plan().splits();
            Long next = scan.checkpoint();
            if (!splits.isEmpty()) {
                ObjectNode plan = plans.addObject();
                plan.put("snapshot", next - 1);
                addChanges(builder, splits, plan.putArray("rows"));
            } else if (next == null || latest == null || next > latest) {
                break;
            }
        }
        if (request.hasNonNull("acknowledge")) {
            scan.notifyCheckpointComplete(scan.checkpoint());
        }
        return answer;
    }

    private static void addChanges(ReadBuilder builder, List<Split> splits, ArrayNode rows) throws Exception {
        for (Split split : splits) {
            try (RecordReaderIterator<InternalRow> records =
                    new RecordReaderIterator<>(builder.newRead().withIOManager(SPILL).createReader(split))) {
                while (records.hasNext()) {
                    InternalRow row = records.next();
                    ArrayNode change = rows.addArray();
                    change.add(row.getRowKind().shortString());
                    change.add(fromRow(row, builder.readType()));
                }
            }
        }
    }

    private static ObjectNode write(JsonNode request) throws Exception {
        Table found = catalog(request).getTable(Identifier.fromString(request.get("table").asText()));
        if (!(found instanceof FileStoreTable)) {
            return writeFiles(found, request);
        }
        FileStoreTable table = table(request);
        if (request.hasNonNull("apart")) {
            return writeApart(table, request.get("apart"));
        }
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(SPILL);
            if (table.schema().crossPartitionUpdate()) {
                writeAcrossPartitions(table, request.get("rows"), write);
                commit.commit(write.prepareCommit());
                return NODES.objectNode();
            }
            HashBucketAssigner assigner = assignerOf(table);
            RowKeyExtractor keys = assigner == null ? null : table.createRowKeyExtractor();
            RowType type = table.rowType();
            if (request.has("moved")) {
                // What an UPDATE writes: rows with the ids they had, and numbers only where nothing has changed.
                type = tracked(type, true);
                write.getClass().getMethod("withWriteType", RowType.class).invoke(write, type);
            }
            for (JsonNode row : request.get("rows")) {
                GenericRow values = (GenericRow) toValue(row.get(1), type);
                values.setRowKind(RowKind.fromShortString(row.get(0).asText()));
                if (assigner == null) {
                    write.write(values);
                } else {
                    keys.setRecord(values);
                    write.write(values, assigner.assign(keys.partition(), keys.trimmedPrimaryKey().hashCode()));
                }
            }
            if (request.hasNonNull("watermark")) {
                long watermark = request.get("watermark").asLong();
                ManifestCommittable committable = new ManifestCommittable(BatchWriteBuilder.COMMIT_IDENTIFIER, watermark);
                write.prepareCommit().forEach(committable::addFileCommittable);
                ((TableCommitImpl) commit).commit(committable);
            } else {
                commit.commit(write.prepareCommit());
            }
        }
        return NODES.objectNode();
    }

    /** Several jobs place and write their rows, and then commit one after the other. */
    private static ObjectNode writeApart(FileStoreTable table, JsonNode batches) throws Exception {
        List<List<CommitMessage>> written = new ArrayList<>();
        for (JsonNode rows : batches) {
            try (BatchTableWrite write = table.newBatchWriteBuilder().newWrite()) {
                write.withIOManager(SPILL);
                if (table.schema().crossPartitionUpdate()) {
                    writeAcrossPartitions(table, rows, write);
                } else {
                    HashBucketAssigner assigner = assignerOf(table);
                    RowKeyExtractor keys = table.createRowKeyExtractor();
                    for (JsonNode row : rows) {
                        GenericRow values = (GenericRow) toValue(row.get(1), table.rowType());
                        values.setRowKind(RowKind.fromShortString(row.get(0).asText()));
                        keys.setRecord(values);
                        write.write(values, assigner.assign(keys.partition(), keys.trimmedPrimaryKey().hashCode()));
                    }
                }
                written.add(write.prepareCommit());
            }
        }
        for (List<CommitMessage> messages : written) {
            try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
                commit.commit(messages);
            }
        }
        return NODES.objectNode();
    }

    /** Rows of a format table; with "overwrite", they replace a partition or all that they are written to. */
    private static ObjectNode writeFiles(Table table, JsonNode request) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        if (request.hasNonNull("overwrite")) {
            builder.withOverwrite(texts(request.get("overwrite")));
        }
        try (BatchTableWrite write = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
            for (JsonNode row : request.get("rows")) {
                write.write((GenericRow) toValue(row.get(1), table.rowType()));
            }
            commit.commit(write.prepareCommit());
        }
        return NODES.objectNode();
    }

    /** Rows of a table whose keys may change their partition, as a job with one task places them. */
    private static void writeAcrossPartitions(
            FileStoreTable table, JsonNode rows, BatchTableWrite write) throws Exception {
        try (GlobalIndexAssigner assigner = new GlobalIndexAssigner(table)) {
            open(assigner, (row, bucket) -> {
                try {
                    write.write(row, bucket);
                } catch (Exception failure) {
                    throw new RuntimeException(failure);
                }
            });
            new IndexBootstrap(table).bootstrap(1, 0, key -> {
                try {
                    assigner.bootstrapKey(key);
                } catch (IOException failure) {
                    throw new UncheckedIOException(failure);
                }
            });
            assigner.endBoostrap(false);
            for (JsonNode row : rows) {
                GenericRow values = (GenericRow) toValue(row.get(1), table.rowType());
                values.setRowKind(RowKind.fromShortString(row.get(0).asText()));
                assigner.processInput(values);
            }
        }
    }

    /** Open the assigner of a job with one task. From 2.0 on it also takes the threads that sort. */
    private static void open(GlobalIndexAssigner assigner, BiConsumer<InternalRow, Integer> collector) throws Exception {
        for (Method method : GlobalIndexAssigner.class.getMethods()) {
            if (method.getName().equals("open")) {
                List<Object> arguments = new ArrayList<>(List.of(1 << 20, SPILL, 1, 0, collector));
                if (method.getParameterCount() > arguments.size()) {
                    arguments.add(1, null);
                }
                method.invoke(assigner, arguments.toArray());
                return;
            }
        }
    }

    /** The assigner of a job with one task, whose constructor grew over the versions; null for other bucket modes. */
    private static HashBucketAssigner assignerOf(FileStoreTable table) throws Exception {
        if (table.schema().primaryKeys().isEmpty() || table.coreOptions().bucket() != -1) {
            return null;
        }
        Constructor<?> constructor = HashBucketAssigner.class.getConstructors()[0];
        List<Object> arguments = new ArrayList<>(List.of(table.snapshotManager(), "assigner",
                table.store().newIndexFileHandler(), 1, 1, 0, table.coreOptions().dynamicBucketTargetRowNum()));
        if (constructor.getParameterCount() > arguments.size()) {
            String limit = table.options().getOrDefault("dynamic-bucket.max-buckets", "-1");
            arguments.add(Integer.parseInt(limit));
        }
        return (HashBucketAssigner) constructor.newInstance(arguments.toArray());
    }

    /** One step on tags, branches, consumers or the history: {"step": [verb, argument...]}. */
    private static ObjectNode history(JsonNode request) throws Exception {
        FileStoreTable table = table(request);
        List<String> step = strings(request.get("step"));
        switch (step.get(0)) {
            case "create_tag":
                table.createTag(step.get(1));
                break;
            case "tag_snapshot":
                table.createTag(step.get(1), Long.parseLong(step.get(2)));
                break;
            case "delete_tag":
                table.deleteTag(step.get(1));
                break;
            case "create_branch":
                table.createBranch(step.get(1));
                break;
            case "branch_from_tag":
                table.createBranch(step.get(1), step.get(2));
                break;
            case "delete_branch":
                table.deleteBranch(step.get(1));
                break;
            case "fast_forward":
                table.fastForward(step.get(1));
                break;
            case "rollback_to_snapshot":
                table.rollbackTo(Long.parseLong(step.get(1)));
                break;
            case "rollback_to_tag":
                table.rollbackTo(step.get(1));
                break;
            case "expire":
                table.newExpireSnapshots()
                        .config(ExpireConfig.builder()
                                .snapshotRetainMax(Integer.parseInt(step.get(1)))
                                .snapshotRetainMin(1)
                                .build())
                        .expire();
                break;
            case "reset_consumer":
                new ConsumerManager(table.fileIO(), table.location())
                        .resetConsumer(step.get(1), new Consumer(Long.parseLong(step.get(2))));
                break;
            default:
                throw new IllegalArgumentException("unknown step " + step);
        }
        return NODES.objectNode();
    }

    /** Tags with their snapshots, branches, and consumers with the snapshots they read next. */
    private static ObjectNode kept(JsonNode request) throws Exception {
        FileStoreTable table = table(request);
        ObjectNode answer = NODES.objectNode();
        ObjectNode tags = answer.putObject("tags");
        table.tagManager().tags().forEach((snapshot, names) -> names.forEach(name -> tags.put(name, snapshot.id())));
        ArrayNode branches = answer.putArray("branches");
        table.branchManager().branches().stream().sorted().forEach(branches::add);
        ObjectNode consumers = answer.putObject("consumers");
        new ConsumerManager(table.fileIO(), table.location()).consumers().forEach(consumers::put);
        return answer;
    }

    /** The partitions that it drops; 1.4 also takes the table, so that the method is found by name. */
    private static ObjectNode expirePartitions(JsonNode request) throws Exception {
        FileStoreTable table = table(request);
        PartitionExpire expire = null;
        for (Method method : table.store().getClass().getMethods()) {
            Class<?>[] types = method.getParameterTypes();
            if (!method.getName().equals("newPartitionExpire")) {
                continue;
            }
            if (types.length == 1) {
                expire = (PartitionExpire) method.invoke(table.store(), "expiry");
            } else if (types.length == 2 && types[1] == FileStoreTable.class) {
                expire = (PartitionExpire) method.invoke(table.store(), "expiry", table);
            }
        }
        ObjectNode answer = NODES.objectNode();
        ArrayNode dropped = answer.putArray("dropped");
        List<Map<String, String>> found = expire.expire(Long.MAX_VALUE);
        if (found != null) {
            for (Map<String, String> partition : found) {
                ObjectNode values = dropped.addObject();
                partition.forEach(values::put);
            }
        }
        return answer;
    }

    /** Every bucket that has files, also those whose files a batch read does not see; "full" unless it says false. */
    private static ObjectNode compact(JsonNode request) throws Exception {
        FileStoreTable table = table(request);
        boolean full = !request.has("full") || request.get("full").asBoolean();
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        TreeMap<String, ManifestEntry> buckets = new TreeMap<>();
        for (ManifestEntry file : table.store().newScan().plan().files()) {
            buckets.put(file.partition().hashCode() + "/" + file.bucket() + "/" + file.partition(), file);
        }
        try (BatchTableWrite write = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(SPILL);
            for (ManifestEntry bucket : buckets.values()) {
                write.compact(bucket.partition(), bucket.bucket(), full);
            }
            commit.commit(write.prepareCommit());
        }
        return NODES.objectNode();
    }

    /** Compacts an append table without buckets as the jobs of Flink and Spark do. Not of version 0.9. */
    private static ObjectNode compactAppend(JsonNode request) throws Exception {
        FileStoreTable table = table(request);
        boolean isTracked = Boolean.parseBoolean(table.options().get("row-tracking.enabled"));
        Class<?> coordinator = Class.forName("org.apache.paimon.append.AppendCompactCoordinator");
        Object planning = coordinator.getConstructor(FileStoreTable.class, boolean.class).newInstance(table, false);
        List<CommitMessage> messages = new ArrayList<>();
        try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
            for (Object task : plannedTasks(coordinator, planning)) {
                Object write = table.store().newWrite("compaction");
                if (isTracked) {
                    RowType type = tracked(table.rowType(), false);
                    write.getClass().getMethod("withWriteType", RowType.class).invoke(write, type);
                }
                for (Method method : task.getClass().getMethods()) {
                    if (method.getName().equals("doCompact")) {
                        messages.add((CommitMessage) method.invoke(task, table, write));
                    }
                }
            }
            commit.commit(messages);
        }
        return NODES.objectNode();
    }

    /** What is to be compacted; the plan of a table in which nothing is says that it has ended. */
    private static List<?> plannedTasks(Class<?> coordinator, Object planning) throws Exception {
        try {
            return (List<?>) coordinator.getMethod("run").invoke(planning);
        } catch (InvocationTargetException end) {
            if (end.getCause() instanceof EndOfScanException) {
                return List.of();
            }
            throw end;
        }
    }

    /** The columns of a file that holds the ids of its rows. */
    private static RowType tracked(RowType type, boolean changed) throws Exception {
        return (RowType) Class.forName("org.apache.paimon.table.SpecialFields")
                .getMethod("rowTypeWithRowTracking", RowType.class, boolean.class, boolean.class)
                .invoke(null, type, false, changed);
    }

    // --- values: numbers as numbers, decimals as text, bytes as hex, times as ISO text ------------------------------

    private static ArrayNode fromRow(InternalRow row, RowType type) {
        ArrayNode result = NODES.arrayNode();
        for (int i = 0; i < type.getFieldCount(); i++) {
            DataType field = type.getTypeAt(i);
            result.add(fromValue(InternalRow.createFieldGetter(field, i).getFieldOrNull(row), field));
        }
        return result;
    }

    private static JsonNode fromValue(Object value, DataType type) {
        if (value == null) {
            return NODES.nullNode();
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return NODES.booleanNode((Boolean) value);
            case TINYINT:
            case SMALLINT:
            case INTEGER:
            case BIGINT:
                return NODES.numberNode(((Number) value).longValue());
            case FLOAT:
            case DOUBLE:
                double number = ((Number) value).doubleValue();
                boolean finite = !Double.isNaN(number) && !Double.isInfinite(number);
                return finite ? NODES.numberNode(Double.parseDouble(value.toString())) : NODES.textNode(value.toString());
            case DECIMAL:
                return NODES.textNode(((Decimal) value).toBigDecimal().toPlainString());
            case BINARY:
            case VARBINARY:
                return NODES.textNode(HexFormat.of().formatHex((byte[]) value));
            case DATE:
                return NODES.textNode(LocalDate.ofEpochDay((Integer) value).toString());
            case TIME_WITHOUT_TIME_ZONE:
                LocalTime time = LocalTime.ofNanoOfDay((Integer) value * 1_000_000L);
                return NODES.textNode(time.format(DateTimeFormatter.ofPattern("HH:mm:ss.SSS")));
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return NODES.textNode(timestamp((Timestamp) value, ((TimestampType) type).getPrecision()));
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return NODES.textNode(timestamp((Timestamp) value, ((LocalZonedTimestampType) type).getPrecision()) + "Z");
            case ARRAY:
                return fromArray((InternalArray) value, ((ArrayType) type).getElementType());
            case MAP:
                return fromMap((InternalMap) value, ((MapType) type).getKeyType(), ((MapType) type).getValueType());
            case MULTISET:
                return fromMap((InternalMap) value, ((MultisetType) type).getElementType(), DataTypes.INT());
            case ROW:
                ObjectNode object = NODES.objectNode();
                ArrayNode members = fromRow((InternalRow) value, (RowType) type);
                List<DataField> fields = ((RowType) type).getFields();
                IntStream.range(0, fields.size()).forEach(i -> object.set(fields.get(i).name(), members.get(i)));
                return object;
            default:
                return NODES.textNode(value.toString());
        }
    }

    private static String timestamp(Timestamp value, int precision) {
        String pattern = "uuuu-MM-dd'T'HH:mm:ss" + (precision == 0 ? "" : "." + "S".repeat(precision));
        return value.toLocalDateTime().format(DateTimeFormatter.ofPattern(pattern));
    }

    private static ArrayNode fromArray(InternalArray array, DataType element) {
        ArrayNode result = NODES.arrayNode();
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(element);
        IntStream.range(0, array.size()).forEach(i -> result.add(fromValue(getter.getElementOrNull(array, i), element)));
        return result;
    }

    private static ArrayNode fromMap(InternalMap map, DataType key, DataType value) {
        ArrayNode keys = fromArray(map.keyArray(), key);
        ArrayNode values = fromArray(map.valueArray(), value);
        ArrayNode result = NODES.arrayNode();
        TreeMap<String, ArrayNode> sorted = new TreeMap<>();
        IntStream.range(0, keys.size())
                .forEach(i -> sorted.put(keys.get(i).toString(), NODES.arrayNode().add(keys.get(i)).add(values.get(i))));
        sorted.values().forEach(result::add);
        return result;
    }

    private static Object toValue(JsonNode node, DataType type) {
        if (node == null || node.isNull()) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return node.asBoolean();
            case TINYINT:
                return (byte) node.asInt();
            case SMALLINT:
                return (short) node.asInt();
            case INTEGER:
                return node.asInt();
            case BIGINT:
                return node.asLong();
            case FLOAT:
                return Float.parseFloat(node.asText());
            case DOUBLE:
                return Double.parseDouble(node.asText());
            case DECIMAL:
                DecimalType decimal = (DecimalType) type;
                return Decimal.fromBigDecimal(new BigDecimal(node.asText()), decimal.getPrecision(), decimal.getScale());
            case CHAR:
            case VARCHAR:
                return BinaryString.fromString(node.asText());
            case BINARY:
            case VARBINARY:
                return HexFormat.of().parseHex(node.asText());
            case DATE:
                return (int) LocalDate.parse(node.asText()).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE:
                return (int) (LocalTime.parse(node.asText()).toNanoOfDay() / 1_000_000L);
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return Timestamp.fromLocalDateTime(LocalDateTime.parse(node.asText().replace("Z", "")));
            case ARRAY:
                List<Object> elements = new ArrayList<>();
                node.forEach(item -> elements.add(toValue(item, ((ArrayType) type).getElementType())));
                return new GenericArray(elements.toArray());
            case MAP:
                Map<Object, Object> entries = new HashMap<>();
                MapType map = (MapType) type;
                node.forEach(pair -> entries.put(toValue(pair.get(0), map.getKeyType()), toValue(pair.get(1), map.getValueType())));
                return new GenericMap(entries);
            case MULTISET:
                Map<Object, Object> bag = new HashMap<>();
                DataType element = ((MultisetType) type).getElementType();
                node.forEach(pair -> bag.put(toValue(pair.get(0), element), pair.get(1).asInt()));
                return new GenericMap(bag);
            case ROW:
                List<DataField> fields = ((RowType) type).getFields();
                GenericRow row = new GenericRow(fields.size());
                for (int i = 0; i < fields.size(); i++) {
                    JsonNode member = node.isArray() ? node.get(i) : node.get(fields.get(i).name());
                    row.setField(i, toValue(member, fields.get(i).type()));
                }
                return row;
            default:
                throw new IllegalArgumentException("type " + type + " cannot be written through this peer");
        }
    }
}
