package penstock;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Spark's checkpoint files in the local file system, made without starting processes.
 *
 * Where Hadoop's native library is missing, as it is in Spark's Python package, its local file
 * system starts the program chmod for every file and directory that it makes: several for each
 * micro-batch, and each takes some milliseconds. Java can set permissions itself. Everything else
 * is as in the class above: the same files, permissions, checksums and renames.
 */
public class LocalCheckpointFiles extends FileSystemBasedCheckpointFileManager {
    private final FileSystem files;

    public LocalCheckpointFiles(Path path, Configuration conf) throws IOException {
        super(path, conf);
        FileSystem usual = super.fs();
        this.files = usual.getClass() == LocalFileSystem.class ? direct(conf) : usual;
    }

    private static FileSystem direct(Configuration conf) throws IOException {
        FileSystem files = new LocalFileSystem(new Direct());
        files.initialize(URI.create("file:///"), conf);
        return files;
    }

    public FileSystem fs() {
        return files;
    }

    /** The local file system, with permissions set by Java. */
    private static class Direct extends RawLocalFileSystem {
        public void setPermission(Path path, FsPermission permission) throws IOException {
            int mode = permission.toShort();
            PosixFilePermission[] all = PosixFilePermission.values();
            if (mode >> all.length != 0) {
                super.setPermission(path, permission); // the sticky bit, which Java does not know
                return;
            }
            Set<PosixFilePermission> wanted = EnumSet.noneOf(PosixFilePermission.class);
            for (int i = 0; i < all.length; i++) {
                if ((mode >> (all.length - 1 - i) & 1) != 0) {
                    wanted.add(all[i]);
                }
            }
            Files.setPosixFilePermissions(pathToFile(path).toPath(), wanted);
        }
    }
}
