// java -cp 'lib/*' Read.java: reads names of HDF5 files from standard input, and answers each with a line of JSON: for
// each dataset the digest of its values, as bytes in the order of a PC, or why it cannot be read.
import io.jhdf.HdfFile;
import io.jhdf.api.Dataset;
import io.jhdf.api.Group;
import io.jhdf.api.Node;
import io.jhdf.api.dataset.ChunkedDataset;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Array;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.ArrayList;
import java.util.Map;

public class Read {
    private static final int BYTES_AT_ONCE = 1 << 20;

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
        Values values = new Values(dataset);
        int[] shape = dataset.getDimensions();
        if (shape.length == 0 || dataset.getSize() == 0) {
            if (dataset.getSize() > 0) values.put(dataset.getDataFlat());
            return values.digest();
        }
        // The whole dataset may be larger than the memory of this process.
        long[] offset = new long[shape.length];
        int[] part = shape.clone();
        int rows = rowsAtOnce(dataset, shape);
        for (int row = 0; row < shape[0]; row += rows) {
            offset[0] = row;
            part[0] = Math.min(rows, shape[0] - row);
            values.put(dataset.getData(offset, part));
        }
        return values.digest();
    }

    // Whole chunks, since jhdf decodes a chunk again for each part of it.
    private static int rowsAtOnce(Dataset dataset, int[] shape) {
        long bytesOfRow = Math.max(1, dataset.getSizeInBytes() / shape[0]);
        int rows = (int) Math.min(shape[0], Math.max(1, BYTES_AT_ONCE / bytesOfRow));
        if (!(dataset instanceof ChunkedDataset chunked)) return rows;
        int rowsOfChunk = chunked.getChunkDimensions()[0];
        return Math.max(1, rows / rowsOfChunk) * rowsOfChunk;
    }

    // The values of a dataset as bytes in the order of a PC, of which only the digest is kept.
    private static class Values {
        private final MessageDigest digest = MessageDigest.getInstance("SHA-1");
        private final ByteBuffer bytes = ByteBuffer.allocate(1 << 16).order(ByteOrder.LITTLE_ENDIAN);
        private final int sizeOfType;

        Values(Dataset dataset) throws Exception {
            sizeOfType = dataset.getDataType().getSize();
        }

        String digest() {
            empty();
            return HexFormat.of().formatHex(digest.digest());
        }

        void put(Object data) {
            if (data instanceof Map<?, ?> members) { // a compound: the values of its members, row by row
                Object[] columns = members.values().toArray();
                put(columns, sizeOfType / columns.length);
            } else {
                put(new Object[] {data}, sizeOfType);
            }
        }

        // Takes arrays of one shape, and puts a value of each in turn.
        private void put(Object[] columns, int size) {
            if (columns[0] instanceof Object[] first && first.getClass().getComponentType().isArray()) {
                Object[] inner = new Object[columns.length];
                for (int i = 0; i < first.length; ++i) {
                    for (int c = 0; c < columns.length; ++c) inner[c] = ((Object[]) columns[c])[i];
                    put(inner, size);
                }
                return;
            }
            int length = Array.getLength(columns[0]);
            for (int i = 0; i < length; ++i) {
                for (Object column : columns) put(bits(column, i), size);
            }
        }

        private void put(long bits, int size) {
            if (bytes.remaining() < Long.BYTES) empty();
            int begin = bytes.position();
            bytes.putLong(bits);
            bytes.position(begin + size);
        }

        private void empty() {
            digest.update(bytes.flip());
            bytes.clear();
        }
    }

    // jhdf gives unsigned integers as the next larger type.
    private static long bits(Object array, int i) {
        if (array instanceof int[] numbers) return numbers[i];
        if (array instanceof long[] numbers) return numbers[i];
        if (array instanceof short[] numbers) return numbers[i];
        if (array instanceof byte[] numbers) return numbers[i];
        if (array instanceof double[] numbers) return Double.doubleToRawLongBits(numbers[i]);
        if (array instanceof float[] numbers) return Float.floatToRawIntBits(numbers[i]);
        if (array instanceof boolean[] truths) return truths[i] ? 1 : 0;
        if (array instanceof BigInteger[] numbers) return numbers[i].longValue();
        Object value = Array.get(array, i);
        if (value.equals("TRUE")) return 1; // a boolean is an enumeration
        if (value.equals("FALSE")) return 0;
        throw new IllegalArgumentException("values are " + value.getClass());
    }
}
