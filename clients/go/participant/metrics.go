package participant

import "github.com/prometheus/client_golang/prometheus"

// registerMetrics registers the metrics. Those of client-go's elector are registered by controller-runtime.
func (p *Participant) registerMetrics(registerer prometheus.Registerer) error {
	if registerer == nil {
		return nil
	}
	for name, gauge := range map[string]struct {
		help  string
		value func() float64
	}{
		"remaining_seconds": {
			"For how long no other candidate can lead; 0 while this process does not lead.",
			func() float64 { return p.Remaining().Seconds() },
		},
		"fencing_token": {
			"The fencing token of this process's term; -1 if it has not led.",
			func() float64 { return float64(p.FencingToken()) },
		},
		"candidate_published": {
			"Whether the LeaseCandidate of this process is published: 1, or 0.",
			func() float64 {
				if p.Ready(nil) == nil {
					return 1
				}
				return 0
			},
		},
	} {
		err := registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "leader_election_participant_" + name,
			Help:        gauge.help,
			ConstLabels: prometheus.Labels{"namespace": p.settings.Namespace, "name": p.settings.Lease},
		}, gauge.value))
		if err != nil {
			return err
		}
	}
	return nil
}
