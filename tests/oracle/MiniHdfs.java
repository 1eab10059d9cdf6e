import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;

/** A real HDFS for tests: two namenodes, of which the second is active, and one datanode; ends with its input. */
public final class MiniHdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        settings.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, Path.of(arguments[0]).toString());
        settings.setBoolean("dfs.namenode.acls.enabled", false);
        settings.setInt("dfs.ls.limit", 7);
        settings.setBoolean("dfs.webhdfs.enabled", true);
        try (MiniDFSCluster cluster =
                new MiniDFSCluster.Builder(settings)
                        .nnTopology(MiniDFSNNTopology.simpleHATopology())
                        .numDataNodes(1)
                        .build()) {
            cluster.waitActive();
            cluster.transitionToActive(1);
            cluster.waitActive(1);
            System.out.printf(
                    "ready %s %s %s%n",
                    address(cluster, 0), address(cluster, 1), cluster.getNameNode(1).getNameNodeAddress().getPort());
            System.out.flush();
            while (System.in.read() >= 0) {}
        }
        System.exit(0);
    }

    private static String address(MiniDFSCluster cluster, int number) {
        return "127.0.0.1:" + cluster.getNameNode(number).getHttpAddress().getPort();
    }
}
