package com.example;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Iterator;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Leads while its request to the sidecar is open. */
public final class Lead {
  private static final Pattern TOLD =
      Pattern.compile("\"leading\":(\\w+).*\"fencingToken\":(\\d+),\"validUntilMs\":(\\d+)");
  /** Follows the last line of an answer. */
  private static final String END = "end";

  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .proxy(HttpClient.Builder.NO_PROXY)
          .build();
  private final HttpRequest request;
  private volatile long token;
  private volatile long until = System.nanoTime();

  public Lead(String address) {
    request = HttpRequest.newBuilder(URI.create("http://" + address + "/lead")).build();
  }

  public long token() {
    return token;
  }

  /** Returns for how many milliseconds no other Pod can lead. Look at it right before each piece of work. */
  public long remainingMs() {
    return Math.max(0, (until - System.nanoTime()) / 1_000_000);
  }

  /**
   * Calls `start` when this Pod leads, and `stop` when it has to stop. `stop` returns when the work has ended. If this
   * thread is interrupted, or if `start` throws, `stop` is called, too, and then the exception is thrown.
   */
  public void run(Runnable start, Runnable stop) throws InterruptedException {
    for (; ; Thread.sleep(200)) lead(start, stop);
  }

  private void lead(Runnable start, Runnable stop) throws InterruptedException {
    boolean started = false;
    long asked = System.nanoTime();
    // The answer begins when this Pod leads. The end of the block closes the connection, which gives up the lead.
    try (var answer = ask()) {
      var lines = read(answer.iterator());
      try {
        for (var line = lines.take(); !line.equals(END); line = lines.take()) {
          var told = TOLD.matcher(line);
          if (!told.find()) continue;
          token = Long.parseLong(told.group(2));
          until = asked + Long.parseLong(told.group(3)) * 1_000_000;
          if (!told.group(1).equals("true")) break;
          if (started) continue;
          started = true;
          start.run();
        }
      } finally {
        if (started) stopOrDie(stop);
      }
    }
  }

  private Stream<String> ask() throws InterruptedException {
    try {
      return client.send(request, BodyHandlers.ofLines()).body();
    } catch (IOException gone) {
      // The sidecar is not there.
      return Stream.empty();
    }
  }

  /** Reads the lines in another thread, because an interrupt of the thread that reads closes the connection. */
  private static BlockingQueue<String> read(Iterator<String> answer) {
    var lines = new LinkedBlockingQueue<String>();
    var reader =
        new Thread(
            () -> {
              try {
                answer.forEachRemaining(lines::add);
              } catch (UncheckedIOException gone) {
                // The sidecar has ended, or this program has closed the connection.
              } finally {
                lines.add(END);
              }
            });
    reader.setDaemon(true);
    reader.start();
    return lines;
  }

  /** The connection must not be closed while the work goes on. */
  private static void stopOrDie(Runnable stop) {
    try {
      stop.run();
    } catch (Throwable error) {
      error.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
  }
}
