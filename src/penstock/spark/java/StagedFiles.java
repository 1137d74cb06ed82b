package penstock;

import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Writes files whose content Python has made, in the executor that runs the task.
 *
 * A column of bytes holds other things, or a file: a mark, the size and text of its place, the size
 * and bytes of what is to be told of it, and the content. Of these only what is to be told goes on.
 * A file that cannot be written fails the task, which Spark then tries again; each attempt has names
 * of its own.
 */
public class StagedFiles implements MapPartitionsFunction, Serializable {
    private static final byte[] MARK = "penstock file\n\0\0".getBytes(StandardCharsets.US_ASCII);

    private final int column;
    private final SerializableConfiguration configuration;

    private StagedFiles(int column, Configuration configuration) {
        this.column = column;
        this.configuration = new SerializableConfiguration(configuration);
    }

    public static Dataset writing(Dataset rows, int column, Configuration configuration) {
        return rows.mapPartitions(
            new StagedFiles(column, configuration), Encoders.row(rows.schema()));
    }

    public Iterator call(Iterator rows) {
        return new Written(rows);
    }

    private class Written implements Iterator {
        private final Iterator rows;

        Written(Iterator rows) {
            this.rows = rows;
        }

        public boolean hasNext() {
            return rows.hasNext();
        }

        public Object next() {
            Row row = (Row) rows.next();
            Object value = row.get(column);
            if (!(value instanceof byte[]) || !isFile((byte[]) value)) {
                return row;
            }
            Object[] values = new Object[row.length()];
            for (int i = 0; i < values.length; i++) {
                values[i] = row.get(i);
            }
            try {
                values[column] = write((byte[]) value);
            } catch (IOException failure) {
                throw new RuntimeException("results cannot be written: " + failure, failure);
            }
            return RowFactory.create(values);
        }
    }

    private static boolean isFile(byte[] bytes) {
        return bytes.length >= MARK.length
            && Arrays.equals(Arrays.copyOf(bytes, MARK.length), MARK);
    }

    private byte[] write(byte[] bytes) throws IOException {
        ByteBuffer rest = ByteBuffer.wrap(bytes, MARK.length, bytes.length - MARK.length);
        Path file = new Path(new String(part(rest), StandardCharsets.UTF_8));
        byte[] told = part(rest);
        FileSystem files = file.getFileSystem(configuration.value());
        OutputStream out = files.create(file, false);
        try {
            out.write(bytes, rest.position(), rest.remaining());
        } finally {
            out.close();
        }
        return told;
    }

    private static byte[] part(ByteBuffer from) {
        byte[] found = new byte[from.getInt()];
        from.get(found);
        return found;
    }
}
