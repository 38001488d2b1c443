/** The metrics API, metrics.k8s.io: cpu and memory usage of pods and nodes, as last measured by the kubelet. */
import { type Addon, account } from "../addon.ts";
import { programImage } from "../images.ts";
import { nodeName } from "../places.ts";

const name = "metrics-server";
const namespace = "kube-system";
const labels = { "k8s-app": name };
const group = "metrics.k8s.io";
const version = "v1beta1";
/** As in main.go. */
const port = 8443;

const rules = [
  { apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] },
  { apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] },
  // Whom the API server speaks for, and whether they may.
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] },
  { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
];

const deployment = () => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace, labels },
  spec: {
    replicas: 1,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        serviceAccountName: name,
        priorityClassName: "system-cluster-critical",
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name,
            image: programImage(name),
            args: [`kubernetes.io/hostname=${nodeName}`],
            // Ready once it has figures, which takes two looks at the kubelet.
            readinessProbe: {
              httpGet: { scheme: "HTTPS", path: "/readyz", port },
              periodSeconds: 1,
              timeoutSeconds: 5,
            },
          },
        ],
      },
    },
  },
});

export const metricsServer: Addon = {
  name,
  deployment: { namespace, name },
  objects: () => [
    ...account(name, namespace, rules),
    deployment(),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace, labels },
      spec: { selector: labels, ports: [{ port: 443, targetPort: port }] },
    },
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: `${version}.${group}` },
      spec: {
        ...{ group, version, groupPriorityMinimum: 100, versionPriority: 100 },
        service: { name, namespace },
        // Its certificate is self-signed.
        insecureSkipTLSVerify: true,
      },
    },
  ],
};
