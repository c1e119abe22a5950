{{- define "duepost.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "duepost.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "duepost.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "duepost.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "duepost.selector" -}}
app.kubernetes.io/name: {{ include "duepost.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "duepost.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "duepost.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "duepost.image" -}}
{{- printf "%s:%s" (required "image.repository: set it to the image that docker/Dockerfile makes, in your registry" .Values.image.repository) (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "duepost.serviceAccount" -}}
{{- default (include "duepost.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{/* "true" without the option redis: duepost then runs a private Redis. */}}
{{- define "duepost.isPrivate" -}}
{{- if not (or (hasKey .Values.options "redis") (hasKey .Values.secretOptions "redis")) -}}true{{- end -}}
{{- end -}}

{{- define "duepost.scheme" -}}
{{- if hasKey .Values.secretFiles "tls-cert" -}}HTTPS{{- else -}}HTTP{{- end -}}
{{- end -}}

{{/* The name of the Secret of an entry {secret, key}. */}}
{{- define "duepost.secret" -}}
{{- $place := .place -}}
{{- with .root -}}
{{- if $place.secret -}}
{{- $place.secret -}}
{{- else if .Values.secret.name -}}
{{- .Values.secret.name -}}
{{- else if hasKey .Values.secret.data $place.key -}}
{{- include "duepost.fullname" . -}}
{{- else -}}
{{- fail (printf "the key %s has no Secret: set secret.name to your own Secret, or secret.data.%s" $place.key $place.key) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The name of the environment variable of an option. */}}
{{- define "duepost.variable" -}}
DUEPOST_{{ . | upper | replace "-" "_" }}
{{- end -}}

{{/* The value of an option as text, because YAML reads on and off as booleans, and Helm prints large numbers as 1e+06. */}}
{{- define "duepost.value" -}}
{{- if kindIs "bool" . -}}
{{- ternary "on" "off" . | quote -}}
{{- else if kindIs "float64" . -}}
{{- . | int64 | quote -}}
{{- else -}}
{{- . | toString | quote -}}
{{- end -}}
{{- end -}}

{{/* Fails if values are wrong, with a message that says what to set. */}}
{{- define "duepost.check" -}}
{{- if not (hasKey .Values.secretFiles "tokens") -}}
{{- fail "secretFiles.tokens: set it, because without tokens duepost does not listen on the network" -}}
{{- end -}}
{{- range $name, $_ := .Values.options -}}
{{- if or (hasKey $.Values.secretOptions $name) (hasKey $.Values.secretFiles $name) -}}
{{- fail (printf "options.%s: the option is in secretOptions or secretFiles, too; set it in one place" $name) -}}
{{- end -}}
{{- end -}}
{{- range $name, $_ := .Values.secretOptions -}}
{{- if hasKey $.Values.secretFiles $name -}}
{{- fail (printf "secretOptions.%s: the option is in secretFiles, too; set it in one place" $name) -}}
{{- end -}}
{{- end -}}
{{- if and (include "duepost.isPrivate" .) .Values.autoscaling.enabled -}}
{{- fail "autoscaling.enabled: a private Redis has one process; set options.redis" -}}
{{- end -}}
{{- end -}}
