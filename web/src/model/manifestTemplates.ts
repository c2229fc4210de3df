/** Manifests to begin with on the page "Create". Pure. */

export interface ManifestTemplate {
  name: string;
  text: string;
}

const HEAD = "apiVersion: shunter.dev/v1\nkind: Job\n";

export const TEMPLATES: readonly ManifestTemplate[] = [
  {
    name: "one command",
    text: `${HEAD}metadata: {name: hello}
spec:
  command: [sh, -c, "echo hello"]
  resources: {cpu: 1, memory: 256Mi}
`,
  },
  {
    name: "many tasks",
    text: `${HEAD}metadata: {name: render, labels: {team: film}}
spec:
  count: 100
  command: [sh, -c, "echo frame $SHUNTER_TASK_INDEX"]
  resources: {cpu: 500m, memory: 256Mi}
  restart: {policy: on-failure, max: 3}
  timeout: {run: 10m}
`,
  },
  {
    name: "service",
    text: `${HEAD}metadata: {name: web}
spec:
  type: service
  count: 2
  command: [sh, -c, "exec python3 -m http.server $SHUNTER_PORT_WEB"]
  ports: [{name: web}]
  health: [{http: /, interval: 5s}]
  update: {parallel: 1, healthy_for: 5s, rollback: true}
  resources: {cpu: 100m}
`,
  },
  {
    name: "steps",
    text: `${HEAD}metadata: {name: pipeline}
spec:
  command: [sh, -c, "echo $SHUNTER_TASK_GROUP $SHUNTER_TASK_INDEX"]
  resources: {cpu: 500m}
  groups:
    - {name: split}
    - {name: work, count: 20, after: [split]}
    - {name: join, after: [{group: work, when: finished}]}
`,
  },
  {
    name: "schedule",
    text: `${HEAD}metadata: {name: report}
spec:
  command: [sh, -c, "date"]
  schedule: {cron: "*/10 * * * *", timezone: Europe/Berlin, overlap: skip}
`,
  },
  {
    name: "testbed",
    text: `apiVersion: shunter.dev/v1
kind: Testbed
metadata: {name: bench}
spec:
  slotsPerNode: 2
  nodeLabel: bench
  resourcesPerSlot: {cpu: 100m}
---
apiVersion: batchjob.gcr.io/v1alpha1
kind: BatchJob
metadata: {name: greeting}
spec:
  commandSpec:
    command: [sh, -c, "echo executor $SHUNTER_EXECUTOR_INDEX in slot $SHUNTER_SLOT_ID"]
`,
  },
];
