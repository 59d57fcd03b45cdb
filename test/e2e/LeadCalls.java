import com.example.Lead;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Calls Lead.run with one callback that fails, or in a thread that is interrupted: for lead-calls.e2e.test.ts. */
final class LeadCalls {
  public static void main(String[] args) throws InterruptedException {
    var lead = new Lead(args[0]);
    var caller = Thread.currentThread();
    Runnable start =
        () -> {
          if (args[1].equals("fail")) throw new UncheckedIOException(new IOException("the disk is full"));
          new Thread(() -> interruptSoon(caller)).start();
        };
    try {
      lead.run(start, LeadCalls::stop);
    } catch (InterruptedException | UncheckedIOException error) {
      System.out.println(error.getClass().getSimpleName());
    }
    System.exit(0);
  }

  private static void interruptSoon(Thread caller) {
    try {
      // By then, the caller waits for the next line of the sidecar.
      Thread.sleep(300);
    } catch (InterruptedException never) {
      return;
    }
    caller.interrupt();
  }

  /** Works on for half a second, and does not heed the interrupt. */
  private static void stop() {
    System.out.println("stops");
    var end = System.nanoTime() + 500_000_000;
    while (System.nanoTime() < end) Thread.onSpinWait();
    System.out.println("has stopped");
  }
}
