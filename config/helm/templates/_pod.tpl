{{/* The pod of the Deployment and of the StatefulSet. */}}
{{- define "duepost.pod" -}}
{{- $isPrivate := include "duepost.isPrivate" . -}}
metadata:
  labels:
    {{- include "duepost.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- $annotations := deepCopy .Values.podAnnotations }}
  {{- if and .Values.secret.data (not .Values.secret.name) }}
  {{- $_ := set $annotations "checksum/secret" (toJson .Values.secret.data | sha256sum) }}
  {{- end }}
  {{- with $annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "duepost.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false  # a Service called duepost would set variables that look like options
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.topologySpreadConstraints }}
  topologySpreadConstraints: {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
  {{- else if not $isPrivate }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "duepost.selector" . | nindent 10 }}
  {{- end }}
  containers:
    - name: duepost
      image: {{ include "duepost.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      env:
        - {name: DUEPOST_LISTEN, value: "{{ .Values.listenHost }}:7700"}
        - {name: DUEPOST_HEALTH_LISTEN, value: "{{ .Values.listenHost }}:7701"}
        {{- if $isPrivate }}
        # The data is in a folder of the volume, because the volume's top folder belongs to root.
        - {name: DUEPOST_DATA, value: /var/lib/duepost/data}
        {{- end }}
        {{- range $name, $value := .Values.options }}
        - {name: {{ include "duepost.variable" $name }}, value: {{ include "duepost.value" $value }}}
        {{- end }}
        {{- range $name, $_ := .Values.secretFiles }}
        - {name: {{ include "duepost.variable" $name }}, value: /etc/duepost/secrets/{{ $name }}}
        {{- end }}
        {{- range $name, $place := .Values.secretOptions }}
        - name: {{ include "duepost.variable" $name }}
          valueFrom:
            secretKeyRef: {name: {{ include "duepost.secret" (dict "root" $ "place" $place) }}, key: {{ $place.key }}}
        {{- end }}
      ports:
        - {name: http, containerPort: 7700}
        - {name: health, containerPort: 7701}
      # While a private Redis loads its data, duepost does not listen, for a minute at most. Without this probe, the
      # liveness probe would end the pod again and again.
      startupProbe:
        httpGet: {path: /healthz, port: health, scheme: {{ include "duepost.scheme" . }}}
        periodSeconds: 2
        failureThreshold: 60
        timeoutSeconds: 5
      # Checks only that the process works, and not Redis, because a restart of duepost does not repair Redis.
      livenessProbe:
        httpGet: {path: /healthz, port: health, scheme: {{ include "duepost.scheme" . }}}
        periodSeconds: 10
        timeoutSeconds: 5
      # Jobs are accepted.
      readinessProbe:
        httpGet: {path: /readyz, port: health, scheme: {{ include "duepost.scheme" . }}}
        periodSeconds: 2
        timeoutSeconds: 5
      # On SIGTERM the port of the API closes at once. The Service needs a moment to send no more requests here.
      lifecycle:
        preStop:
          exec: {command: [sleep, "5"]}
      resources: {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        # Mounts the folder and not single files, because single files would not change when the Secret changes.
        - {name: secrets, mountPath: /etc/duepost/secrets, readOnly: true}
        {{- if $isPrivate }}
        - {name: data, mountPath: /var/lib/duepost}
        {{- end }}
  volumes:
    - name: secrets
      projected:
        defaultMode: 0440
        sources:
          {{- range $name, $place := .Values.secretFiles }}
          - secret:
              name: {{ include "duepost.secret" (dict "root" $ "place" $place) }}
              items: [{key: {{ $place.key }}, path: {{ $name }}}]
          {{- end }}
{{- end -}}
