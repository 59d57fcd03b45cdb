package com.example;

import org.springframework.integration.leader.AbstractCandidate;
import org.springframework.integration.leader.Candidate;
import org.springframework.integration.leader.Context;

/** A program with Spring Integration's Candidate. */
public final class WithSpring {
  public static void main(String[] args) throws InterruptedException {
    var lead = new Lead(System.getenv("SIDECAR"));
    var candidate = new PricesCandidate(new Prices(lead::remainingMs, lead::token));
    Context context = () -> lead.remainingMs() > 0;
    lead.run(() -> grant(candidate, context), () -> candidate.onRevoked(context));
  }

  private static void grant(Candidate candidate, Context context) {
    try {
      candidate.onGranted(context);
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    }
  }

  /** As it was for the LeaderInitiator. */
  private static final class PricesCandidate extends AbstractCandidate {
    private final Prices prices;

    PricesCandidate(Prices prices) {
      super("prices", null);
      this.prices = prices;
    }

    @Override
    public void onGranted(Context context) {
      prices.start();
    }

    @Override
    public void onRevoked(Context context) {
      prices.stop();
    }
  }
}
