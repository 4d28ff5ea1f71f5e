{{- define "dragoman.selector" -}}
app.kubernetes.io/name: dragoman
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "dragoman.metadata" -}}
name: {{ .Release.Name }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "dragoman.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
