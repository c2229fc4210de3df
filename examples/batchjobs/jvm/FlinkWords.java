package org.shunter.examples;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.functions.FlatMapFunction;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;

/** Counts how often each word occurs in a text; the JobManager prints one line per word. */
public class FlinkWords {
    private static final Pattern WORD = Pattern.compile("[a-z]+");

    public static class Words implements FlatMapFunction<String, Tuple2<String, Integer>> {
        @Override
        public void flatMap(String line, Collector<Tuple2<String, Integer>> out) {
            Matcher words = WORD.matcher(line.toLowerCase());
            while (words.find()) {
                out.collect(Tuple2.of(words.group(), 1));
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setRuntimeMode(RuntimeExecutionMode.BATCH);
        TreeMap<String, Integer> counts = new TreeMap<>();
        try (CloseableIterator<Tuple2<String, Integer>> found =
                environment
                        .fromData(Files.readAllLines(Path.of(arguments[0])))
                        .rebalance()
                        .flatMap(new Words())
                        .keyBy(word -> word.f0)
                        .sum(1)
                        .executeAndCollect("words")) {
            found.forEachRemaining(word -> counts.merge(word.f0, word.f1, Math::max));
        }
        counts.forEach((word, count) -> System.out.println(word + " " + count));
    }
}
