package com.example;

import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/** The work of the leader: it prints a line five times a second. */
final class Prices {
  private final LongSupplier remainingMs;
  private final LongSupplier token;
  private volatile Thread worker;

  Prices(LongSupplier remainingMs, LongSupplier token) {
    this.remainingMs = remainingMs;
    this.token = token;
  }

  void start() {
    worker = new Thread(this::work);
    worker.start();
  }

  /** Returns when the work has ended. */
  void stop() {
    var ended = worker;
    worker = null;
    try {
      ended.join();
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException("the work may go on", interrupted);
    }
  }

  private void work() {
    while (worker == Thread.currentThread()) {
      // A second is left for the work itself.
      if (remainingMs.getAsLong() > 1000) System.out.println("works under the token " + token.getAsLong());
      LockSupport.parkNanos(200_000_000);
    }
  }
}
