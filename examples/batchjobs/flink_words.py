"""Count how often each word occurs in a text, with Flink's Table API. The JobManager prints the result as JSON."""

import json
import re
import sys

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(path: str) -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    with open(path) as file:
        words = re.findall(r"[a-z]+", file.read().lower())
    environment.create_temporary_view("words", environment.from_elements([(word,) for word in words], ["word"]))
    counted = environment.execute_sql("SELECT word, COUNT(*) FROM words GROUP BY word")
    with counted.collect() as rows:
        print(json.dumps({row[0]: row[1] for row in rows}, sort_keys=True))


if __name__ == "__main__":
    main(sys.argv[1])
