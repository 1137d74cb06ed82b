package penstock;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IOUtils;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.VoidFunction;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Joins files of results to one, in a task, so that none of them passes through the driver.
 *
 * The one is written under a hidden name, and gets its own when it is whole; a file that had that
 * name is replaced. Of parquet row groups are copied as they are; of other formats the content is,
 * behind a head, such as the names of columns.
 */
public class JoinedFiles implements VoidFunction, Serializable {
    private final ArrayList parts;
    private final boolean isParquet;
    private final byte[] head;
    private final SerializableConfiguration configuration;

    private JoinedFiles(List parts, boolean isParquet, byte[] head, Configuration configuration) {
        this.parts = new ArrayList(parts);
        this.isParquet = isParquet;
        this.head = head;
        this.configuration = new SerializableConfiguration(configuration);
    }

    public static void join(
            JavaSparkContext spark, List parts, String into, boolean isParquet, byte[] head,
            Configuration configuration) {
        JoinedFiles work = new JoinedFiles(parts, isParquet, head, configuration);
        spark.parallelize(Collections.singletonList(into), 1).foreach(work);
    }

    public void call(Object into) throws IOException {
        Path file = new Path((String) into);
        Path hidden = new Path(file.getParent(), ".part-joined-" + UUID.randomUUID());
        FileSystem files = file.getFileSystem(configuration.value());
        try {
            if (isParquet) {
                writeParquet(hidden);
            } else {
                writeOther(files, hidden);
            }
            files.delete(file, false);
            if (!files.rename(hidden, file)) {
                throw new IOException(hidden + " cannot be renamed to " + file);
            }
        } catch (IOException failure) {
            files.delete(hidden, false);
            throw failure;
        }
    }

    private void writeParquet(Path into) throws IOException {
        Configuration settings = configuration.value();
        FileMetaData first = metadata(new Path((String) parts.get(0)));
        ParquetFileWriter writer = new ParquetFileWriter(settings, first.getSchema(), into);
        writer.start();
        for (int i = 0; i < parts.size(); i++) {
            writer.appendFile(settings, new Path((String) parts.get(i)));
        }
        writer.end(first.getKeyValueMetaData());
    }

    private FileMetaData metadata(Path file) throws IOException {
        ParquetFileReader reader = ParquetFileReader.open(configuration.value(), file);
        try {
            return reader.getFileMetaData();
        } finally {
            reader.close();
        }
    }

    private void writeOther(FileSystem files, Path into) throws IOException {
        OutputStream out = files.create(into, false);
        try {
            out.write(head);
            for (int i = 0; i < parts.size(); i++) {
                InputStream part = files.open(new Path((String) parts.get(i)));
                try {
                    IOUtils.copyBytes(part, out, 1 << 20, false);
                } finally {
                    part.close();
                }
            }
        } finally {
            out.close();
        }
    }
}
