{{- define "coordinated-leader-election.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* A release may have dots in its name; a Service may not. */}}
{{- define "coordinated-leader-election.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | replace "." "-" | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | replace "." "-" | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* A label may not have the plus of a version like 0.1.0+5b1c2d3. */}}
{{- define "coordinated-leader-election.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "coordinated-leader-election.labels" -}}
helm.sh/chart: {{ include "coordinated-leader-election.chart" . }}
{{ include "coordinated-leader-election.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* The labels above beside those of the values, which may be none and cannot replace any: list of the context and these. */}}
{{- define "coordinated-leader-election.labelsBeside" -}}
{{- mustMergeOverwrite (dict) (last . | default dict) (fromYaml (include "coordinated-leader-election.labels" (first .))) | toYaml }}
{{- end }}

{{- define "coordinated-leader-election.selectorLabels" -}}
app.kubernetes.io/name: {{ include "coordinated-leader-election.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* Name of the pod of `helm test`, and the label that it is known by. */}}
{{- define "coordinated-leader-election.testName" -}}
{{- include "coordinated-leader-election.fullname" . | trunc 52 | trimSuffix "-" }}-test-ready
{{- end }}

{{- define "coordinated-leader-election.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "coordinated-leader-election.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "coordinated-leader-election.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* The program's arguments: a value of config is the flag of the same name, a true or false one its switch. */}}
{{- define "coordinated-leader-election.args" -}}
{{- $address := .Values.listenAddress }}
{{- if contains ":" $address }}{{ $address = printf "[%s]" $address }}{{ end -}}
- run
- {{ printf "--listen=%s:%d" $address (int .Values.containerPort) | quote }}
{{- range $name, $value := .Values.config }}
{{- if kindIs "bool" $value }}
- {{ ternary "--" "--no-" $value }}{{ kebabcase $name }}
{{- else if not (kindIs "invalid" $value) }}
- {{ printf "--%s=%v" (kebabcase $name) $value | quote }}
{{- end }}
{{- end }}
{{- if .Values.crashEvidence.enabled }}
- --watch-pods
{{- end }}
{{- range .Values.namespaces }}
- {{ printf "--namespace=%s" . | quote }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* Where config leaves it to the program's own default, that is kube-system. */}}
{{- define "coordinated-leader-election.lockNamespace" -}}
{{- .Values.config.lockNamespace | default "kube-system" }}
{{- end }}

{{/* The names of what may be done, each with rules of its own. */}}
{{- define "coordinated-leader-election.concerns" -}}
candidates events leases{{ if has true (list .Values.config.leaderLabel) }} pods{{ end }}{{ if .Values.crashEvidence.enabled }} pod-status{{ end }}
{{- end }}

{{/* Candidates are pinged (patch) and, hours after the last sign of life, collected (delete). */}}
{{- define "coordinated-leader-election.rules.candidates" -}}
- apiGroups: [coordination.k8s.io, coordinated-leader-election.dev]
  resources: [leasecandidates]
  verbs: [list, watch, patch, delete]
{{- end }}

{{/* Leases are created where candidates wait for one, and patched, never replaced or deleted. */}}
{{- define "coordinated-leader-election.rules.leases" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [list, watch, create, patch]
{{- end }}

{{/* What happens to a Lease is told in Events on it, and what happens again is counted up in the first. */}}
{{- define "coordinated-leader-election.rules.events" -}}
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{/* Leaders' Pods are labelled; Pods are listed for labels that a crash has left behind. A role cannot limit a patch to labels. */}}
{{- define "coordinated-leader-election.rules.pods" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [list, patch]
{{- end }}

{{/*
The status of a leader's Pod tells that its container has ended. Pods are only read. An annotation on a Namespace asks for this about
plain electors; a Role in a namespace cannot grant to read it.
*/}}
{{- define "coordinated-leader-election.rules.pod-status" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
{{- if not .Values.namespaces }}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
{{- end }}
{{- end }}

{{/*
The roles that others may be given, each with rules of its own. Users who may view a namespace may read its candidates. Users who may
edit it take part in its elections only if `rbac.aggregateToEdit` says so: a candidate can become the leader of any vacant Lease.
*/}}
{{- define "coordinated-leader-election.roles" -}}
participant reader
{{- end }}

{{/* Whose rights include those of a role; what is in view is in edit, and what is in edit is in admin. */}}
{{- define "coordinated-leader-election.aggregates.participant" -}}
{{- if .Values.rbac.aggregateToEdit -}}
rbac.authorization.k8s.io/aggregate-to-edit: "true"
{{- end -}}
{{- end }}

{{- define "coordinated-leader-election.aggregates.reader" -}}
rbac.authorization.k8s.io/aggregate-to-view: "true"
{{- end }}

{{/* A program publishes, renews and removes its candidate, and renews and releases the Lease that the coordinator has made. */}}
{{- define "coordinated-leader-election.rules.participant" -}}
- apiGroups: [coordinated-leader-election.dev]
  resources: [leasecandidates]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list, watch, update, patch]
{{- end }}

{{- define "coordinated-leader-election.rules.reader" -}}
- apiGroups: [coordinated-leader-election.dev]
  resources: [leasecandidates]
  verbs: [get, list, watch]
{{- end }}

{{- define "coordinated-leader-election.subjects" -}}
- kind: ServiceAccount
  name: {{ include "coordinated-leader-election.serviceAccountName" . | quote }}
  namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{/* What a ServiceMonitor and a PodMonitor say of their endpoint alike; given the monitor's values. */}}
{{- define "coordinated-leader-election.endpoint" -}}
- port: http
  path: /metrics
  {{- with .interval }}
  interval: {{ . }}
  {{- end }}
  {{- with .scrapeTimeout }}
  scrapeTimeout: {{ . }}
  {{- end }}
{{- end }}
