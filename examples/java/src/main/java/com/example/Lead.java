package com.example;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Pattern;

/** Leads while its request to the sidecar is open. */
public final class Lead {
  private static final Pattern TOLD =
      Pattern.compile("\"leading\":(\\w+).*\"fencingToken\":(\\d+),\"validUntilMs\":(\\d+)");
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
   * Calls `start` when this Pod leads, and `stop` when it has to stop. `stop` returns when the work has ended. Do not
   * interrupt the thread that calls this method: the connection would close before `stop` has ended.
   */
  public void run(Runnable start, Runnable stop) throws InterruptedException {
    for (; ; Thread.sleep(200)) {
      try {
        lead(start, stop);
      } catch (IOException gone) {
        // The sidecar is not there, or has ended.
      }
    }
  }

  private void lead(Runnable start, Runnable stop) throws IOException, InterruptedException {
    boolean started = false;
    long asked = System.nanoTime();
    // The answer begins when this Pod leads. The end of the block closes the connection, which gives up the lead.
    var body = client.send(request, BodyHandlers.ofInputStream()).body();
    try (var lines = new BufferedReader(new InputStreamReader(body))) {
      try {
        for (String line; (line = lines.readLine()) != null; ) {
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
