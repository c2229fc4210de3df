package org.shunter.examples;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.CloseableIterator;

/**
 * Crawls a web site with Flink. All TaskManagers together fetch the pages at one distance from the start. The program
 * runs as a stream, because batch mode would start without a late TaskManager. The JobManager prints the number of words
 * of each page (-1: no such page), and how many pages each slot fetched.
 */
public class FlinkCrawler {
    private static final Pattern LINK = Pattern.compile("href=\"([^\"]+)\"");

    /** Address, number of words, links separated by spaces, and the slot that fetched the page. */
    public static class Fetch implements MapFunction<String, Tuple4<String, Integer, String, String>> {
        @Override
        public Tuple4<String, Integer, String, String> map(String address) throws Exception {
            String slot = System.getenv("SHUNTER_SLOT_ID");
            HttpRequest request = HttpRequest.newBuilder(URI.create(address)).build();
            HttpResponse<String> answer =
                    HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                return Tuple4.of(address, -1, "", slot);
            }
            Set<String> links = new TreeSet<>();
            Matcher found = LINK.matcher(answer.body());
            while (found.find()) {
                links.add(URI.create(address).resolve(found.group(1)).toString());
            }
            Matcher words = Pattern.compile("\\w+").matcher(answer.body().replaceAll("<[^>]*>", " "));
            int count = 0;
            while (words.find()) {
                count++;
            }
            return Tuple4.of(address, count, String.join(" ", links), slot);
        }
    }

    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        Map<String, Integer> pages = new TreeMap<>();
        Map<String, Integer> slots = new TreeMap<>();
        List<String> frontier = List.of(arguments[0]);
        while (!frontier.isEmpty() && pages.size() < Integer.parseInt(arguments[1])) {
            Set<String> next = new TreeSet<>();
            try (CloseableIterator<Tuple4<String, Integer, String, String>> fetched =
                    environment.fromData(frontier).rebalance().map(new Fetch()).executeAndCollect("pages")) {
                fetched.forEachRemaining(
                        page -> {
                            pages.put(page.f0, page.f1);
                            slots.merge(page.f3, 1, Integer::sum);
                            if (!page.f2.isEmpty()) {
                                next.addAll(List.of(page.f2.split(" ")));
                            }
                        });
            }
            next.removeAll(pages.keySet());
            frontier = new ArrayList<>(next);
        }
        pages.forEach((address, words) -> System.out.println(address + " " + words));
        slots.forEach((slot, count) -> System.out.println("slot " + slot + " " + count));
    }
}
