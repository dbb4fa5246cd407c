// java -cp 'lib/*' Read.java: reads names of HDF5 files from standard input, and answers each with a line of JSON: for
// each dataset the digest of its values, as bytes in the order of a PC, or why it cannot be read.
import io.jhdf.HdfFile;
import io.jhdf.api.Dataset;
import io.jhdf.api.Group;
import io.jhdf.api.Node;
import io.jhdf.object.datatype.DataType;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Array;
import java.math.BigInteger;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.ArrayList;
import java.util.Map;

public class Read {
    public static void main(String[] arguments) throws Exception {
        BufferedReader names = new BufferedReader(new InputStreamReader(System.in));
        for (String name = names.readLine(); name != null; name = names.readLine()) {
            System.out.println(answer(name));
            System.out.flush();
        }
    }

    private static String answer(String name) {
        Map<String, String> found = new LinkedHashMap<>();
        try (HdfFile file = new HdfFile(Path.of(name))) {
            visit(file, found);
        } catch (Throwable error) {
            found.put("", "error: " + error + " " + error.getCause());
        }
        List<String> parts = new ArrayList<>();
        found.forEach((path, digest) -> parts.add(quoted(path) + ":" + quoted(digest)));
        return "{" + String.join(",", parts) + "}";
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "'").replace("\n", " ") + '"';
    }

    private static void visit(Group group, Map<String, String> found) {
        for (Node node : group) {
            if (node instanceof Group child) {
                visit(child, found);
            } else if (node instanceof Dataset dataset) {
                try {
                    found.put(dataset.getPath(), digest(dataset));
                } catch (Throwable error) {
                    found.put(dataset.getPath(), "error: " + error);
                }
            }
        }
    }

    private static String digest(Dataset dataset) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Object data = dataset.getSize() == 0 ? null : dataset.getData();
        if (data instanceof Map<?, ?> members) { // a compound: values of a member, one row after the other
            List<Iterator<Object>> columns = new ArrayList<>();
            for (Object column : members.values()) {
                List<Object> flat = new ArrayList<>();
                flatten(column, flat);
                columns.add(flat.iterator());
            }
            int size = dataset.getDataType().getSize() / columns.size();
            while (columns.get(0).hasNext()) {
                for (Iterator<Object> column : columns) put(column.next(), size, bytes);
            }
        } else if (data != null) {
            List<Object> flat = new ArrayList<>();
            flatten(data, flat);
            for (Object value : flat) put(value, dataset.getDataType().getSize(), bytes);
        }
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(bytes.toByteArray()));
    }

    private static void flatten(Object data, List<Object> into) {
        if (!data.getClass().isArray()) {
            into.add(data);
            return;
        }
        for (int i = 0; i < Array.getLength(data); ++i) flatten(Array.get(data, i), into);
    }

    // jhdf gives unsigned integers as the next larger type.
    private static void put(Object value, int size, ByteArrayOutputStream into) {
        long bits;
        if (value instanceof Double number) bits = Double.doubleToRawLongBits(number);
        else if (value instanceof Float number) bits = Float.floatToRawIntBits(number);
        else if (value instanceof BigInteger number) bits = number.longValue();
        else if (value instanceof Boolean truth) bits = truth ? 1 : 0;
        else if (value instanceof Number number) bits = number.longValue();
        else if (value instanceof String text && text.equals("TRUE")) bits = 1; // a boolean is an enumeration
        else if (value instanceof String text && text.equals("FALSE")) bits = 0;
        else throw new IllegalArgumentException("values are " + value.getClass());
        for (int i = 0; i < size; ++i) into.write((int) (bits >> (8 * i)) & 0xff);
    }
}
