package org.shunter.examples

import org.apache.spark.{SparkConf, SparkContext}

/** Counts how often each word occurs in a text; prints one line per word. */
object SparkWords {
  def main(arguments: Array[String]): Unit = {
    val context = new SparkContext(new SparkConf())
    val source = scala.io.Source.fromFile(arguments(0))
    val lines = context.parallelize(source.getLines().toSeq, 8)
    val counts = lines
      .flatMap(line => "[a-z]+".r.findAllIn(line.toLowerCase))
      .map(word => (word, 1))
      .reduceByKey(_ + _)
    counts.collect().sorted.foreach { case (word, count) => println(s"$word $count") }
    context.stop()
  }
}
