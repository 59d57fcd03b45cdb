package com.example;

import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import java.time.Duration;

/** A program with fabric8's callbacks. Without SIDECAR, it elects its leader as it did before. */
public final class WithFabric8 {
  public static void main(String[] args) throws InterruptedException {
    var sidecar = System.getenv("SIDECAR");
    if (sidecar == null) {
      electByFabric8();
      return;
    }
    var lead = new Lead(sidecar);
    var prices = new Prices(lead::remainingMs, lead::token);
    var callbacks = new LeaderCallbacks(prices::start, prices::stop, holder -> {});
    lead.run(callbacks::onStartLeading, callbacks::onStopLeading);
  }

  private static void electByFabric8() {
    var prices = new Prices(() -> Long.MAX_VALUE, () -> -1);
    var callbacks = new LeaderCallbacks(prices::start, prices::stop, holder -> {});
    try (var client = new KubernetesClientBuilder().build()) {
      client
          .leaderElector()
          .withConfig(
              new LeaderElectionConfigBuilder()
                  .withName("prices")
                  .withLock(new LeaseLock("default", "prices", System.getenv("POD_NAME")))
                  .withLeaseDuration(Duration.ofSeconds(15))
                  .withRenewDeadline(Duration.ofSeconds(10))
                  .withRetryPeriod(Duration.ofSeconds(2))
                  .withLeaderCallbacks(callbacks)
                  .build())
          .build()
          .run();
    }
  }
}
