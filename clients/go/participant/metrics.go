package participant

import "github.com/prometheus/client_golang/prometheus"

// register registers the metrics. Those of client-go's elector are registered by controller-runtime.
func (p *Participant) register(registerer prometheus.Registerer) error {
	gauges := []struct {
		name, help string
		value      func() float64
	}{
		{
			"remaining_seconds",
			"For how long no other candidate can lead; 0 while this process does not lead.",
			func() float64 { return p.Remaining().Seconds() },
		},
		{
			"fencing_token",
			"The fencing token of this process's term; -1 if it has not led.",
			func() float64 { return float64(p.FencingToken()) },
		},
		{
			"candidate_published",
			"Whether the LeaseCandidate of this process is published: 1, or 0.",
			func() float64 {
				if p.candidate.isPublished.Load() {
					return 1
				}
				return 0
			},
		},
	}
	for _, gauge := range gauges {
		collector := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace:   "leader_election",
			Subsystem:   "participant",
			Name:        gauge.name,
			Help:        gauge.help,
			ConstLabels: prometheus.Labels{"namespace": p.settings.Namespace, "name": p.settings.Lease},
		}, gauge.value)
		if err := registerer.Register(collector); err != nil {
			return err
		}
	}
	return nil
}
