/** Names for Services and pods, at the address that the kubelet writes into every pod's resolv.conf. */
import { createHash } from "node:crypto";
import { type Addon, account } from "../addon.ts";
import { programImage } from "../images.ts";
import { network } from "../places.ts";

const labels = { "k8s-app": "kube-dns" };
const namespace = "kube-system";
const config = "/etc/coredns";

/**
 * Nothing is cached: a test must not wait for a name that was queried before it existed. A name outside the cluster
 * does not exist, for there is no way out.
 */
const corefile = `cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {
  errors
  ready
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    pods insecure
    ttl 0
  }
}
.:53 {
  errors
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`;

/** Named after its content, so that other content means other pods. */
const configName = `coredns-${createHash("sha256").update(corefile).digest("hex").slice(0, 8)}`;

const rules = [
  { apiGroups: [""], resources: ["endpoints", "services", "pods", "namespaces"], verbs: ["list", "watch"] },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
];

const deployment = () => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "coredns", namespace, labels },
  spec: {
    replicas: 1,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        serviceAccountName: "coredns",
        priorityClassName: "system-cluster-critical",
        // It cannot ask itself before it runs.
        dnsPolicy: "Default",
        // An old one has nothing to finish that is worth waiting for.
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: "coredns",
            image: programImage("coredns"),
            args: ["-conf", `${config}/Corefile`],
            ports: [
              { name: "dns", containerPort: 53, protocol: "UDP" },
              { name: "dns-tcp", containerPort: 53, protocol: "TCP" },
            ],
            readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1, timeoutSeconds: 5 },
            volumeMounts: [{ name: "config", mountPath: config }],
          },
        ],
        volumes: [{ name: "config", configMap: { name: configName } }],
      },
    },
  },
});

export const coredns: Addon = {
  name: "coredns",
  deployment: { namespace, name: "coredns" },
  objects: () => [
    ...account("coredns", namespace, rules),
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: configName, namespace }, data: { Corefile: corefile } },
    deployment(),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "kube-dns", namespace, labels },
      spec: {
        selector: labels,
        clusterIP: network.dnsService,
        ports: [
          { name: "dns", port: 53, protocol: "UDP" },
          { name: "dns-tcp", port: 53, protocol: "TCP" },
        ],
      },
    },
  ],
};
