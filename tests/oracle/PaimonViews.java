import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.view.View;
import org.apache.paimon.view.ViewChange;
import org.apache.paimon.view.ViewImpl;

/** Steps on the views of a catalog, for the versions that know views. */
public class PaimonViews {
    public static ObjectNode perform(Catalog catalog, JsonNode request) throws Exception {
        JsonNode step = request.get("step");
        Identifier name = Identifier.fromString(request.get("table").asText());
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        switch (step.get("action").asText()) {
            case "create":
                catalog.createView(name, view(name, step), false);
                break;
            case "load":
                describe(catalog.getView(name), answer);
                break;
            case "list":
                catalog.listViews(name.getDatabaseName()).forEach(answer.putArray("names")::add);
                break;
            case "rename":
                catalog.renameView(name, Identifier.fromString(step.get("target").asText()), false);
                break;
            case "set":
                catalog.alterView(name, changes(step), false);
                break;
            case "drop":
                catalog.dropView(name, false);
                break;
            case "drop_database":
                catalog.dropDatabase(name.getDatabaseName(), false, step.get("cascade").asBoolean());
                break;
            default:
                throw new IllegalArgumentException("unknown step " + step);
        }
        return answer;
    }

    private static View view(Identifier name, JsonNode step) {
        List<DataField> fields = new ArrayList<>();
        for (JsonNode field : step.get("fields")) {
            String comment = field.size() > 2 ? field.get(2).asText() : null;
            fields.add(new DataField(
                    fields.size(), field.get(0).asText(), DataTypeJsonParser.parseDataType(field.get(1)), comment));
        }
        String comment = step.hasNonNull("comment") ? step.get("comment").asText() : null;
        Map<String, String> dialects = texts(step.get("dialects"));
        return new ViewImpl(name, fields, step.get("query").asText(), dialects, comment, texts(step.get("options")));
    }

    private static List<ViewChange> changes(JsonNode step) {
        List<ViewChange> changes = new ArrayList<>();
        texts(step.get("options")).forEach((key, value) -> changes.add(ViewChange.setOption(key, value)));
        texts(step.get("dialects")).forEach((dialect, query) -> changes.add(ViewChange.addDialect(dialect, query)));
        changes.add(ViewChange.updateComment(step.get("comment").asText()));
        return changes;
    }

    private static void describe(View view, ObjectNode answer) {
        answer.put("query", view.query());
        answer.put("comment", view.comment().orElse(null));
        view.dialects().forEach(answer.putObject("dialects")::put);
        view.options().forEach(answer.putObject("options")::put);
        for (DataField field : view.rowType().getFields()) {
            answer.withArray("fields").addArray()
                    .add(field.id()).add(field.name()).add(field.type().asSQLString()).add(field.description());
        }
    }

    private static Map<String, String> texts(JsonNode object) {
        Map<String, String> result = new HashMap<>();
        if (object != null) {
            object.fields().forEachRemaining(e -> result.put(e.getKey(), e.getValue().asText()));
        }
        return result;
    }
}
