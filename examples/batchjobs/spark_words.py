"""Count how often each word occurs in a text, with Spark. The driver prints the counts and the slots as JSON."""

import json
import os
import re
import sys

from pyspark.sql import SparkSession

PARTS = 8  # more than there are executors, so that each gets some


def words(line: str) -> list[str]:
    return re.findall(r"[a-z]+", line.lower())


def main(path: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    with open(path) as file:  # only the driver reads the text, so other nodes do not need it
        lines = spark.sparkContext.parallelize(file.read().splitlines(), PARTS)
    counts = lines.flatMap(words).map(lambda word: (word, 1)).reduceByKey(lambda one, other: one + other)
    slots = lines.mapPartitions(lambda _: [os.environ["SHUNTER_SLOT_ID"]]).countByValue()
    print(json.dumps({"words": dict(sorted(counts.collect())), "slots": dict(slots)}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
