/** Objects of the kinds and sizes that leases have; `word` changes each of them, so that an apply has something to write. */
import { type Kind, kinds } from "../src/kube/kinds.ts";
import type { KubeObject } from "../src/kube/kube.ts";

export interface DesiredObject {
  readonly kind: Kind;
  readonly at: { readonly namespace: string; readonly name: string };
  /** Otherwise the same. */
  desired(word: string): KubeObject;
}

export const leaseKinds = [kinds.deployment, kinds.service, kinds.networkPolicy, kinds.configMap] as const;

export function leaseObjects(namespace: string, leases: number): DesiredObject[] {
  return Array.from({ length: leases }, (_, lease) => `web-${lease}`).flatMap((name) =>
    leaseKinds.map((kind) => {
      const at = { namespace, name };
      return { kind, at, desired: (word: string) => objectOf(kind, at, word) };
    }),
  );
}

function objectOf(kind: Kind, at: DesiredObject["at"], word: string): KubeObject {
  const labels = { "akash.network": "true", "akash.network/manifest-service": at.name };
  return { metadata: { ...at, labels, annotations: { word } }, ...contentOf(kind, labels, word) };
}

function contentOf(kind: Kind, labels: Record<string, string>, word: string): object {
  if (kind === kinds.deployment) return { spec: deploymentSpec(labels, word) };
  if (kind === kinds.service)
    return { spec: { selector: labels, ports: [{ name: "web", port: 80, targetPort: 8080 }] } };
  if (kind === kinds.networkPolicy) return { spec: networkPolicySpec(labels) };
  return { data: { "nginx.conf": `# ${word}\n${"proxy_read_timeout 60;\n".repeat(40)}` } };
}

function deploymentSpec(labels: Record<string, string>, word: string): object {
  const env = Array.from({ length: 12 }, (_, n) => ({
    name: `AKASH_SETTING_${n}`,
    value: n === 0 ? word : `value ${n}`,
  }));
  const amounts = { cpu: "500m", memory: "512Mi", "ephemeral-storage": "1Gi" };
  const container = {
    name: "web",
    image: "registry.example/web:1.2.3",
    args: ["serve", "--port", "8080"],
    env,
    ports: [{ name: "web", containerPort: 8080 }],
    resources: { limits: amounts, requests: amounts },
    securityContext: { allowPrivilegeEscalation: false, privileged: false, runAsNonRoot: false },
  };
  return {
    replicas: 1,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { automountServiceAccountToken: false, enableServiceLinks: false, containers: [container] },
    },
  };
}

function networkPolicySpec(labels: Record<string, string>): object {
  const dns = [53].flatMap((port) => ["UDP", "TCP"].map((protocol) => ({ port, protocol })));
  return {
    podSelector: { matchLabels: labels },
    policyTypes: ["Ingress", "Egress"],
    ingress: [{ from: [{ podSelector: {} }] }, { ports: [{ port: 8080, protocol: "TCP" }] }],
    egress: [
      { to: [{ podSelector: {} }] },
      { ports: dns, to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } } }] },
      { to: [{ ipBlock: { cidr: "0.0.0.0/0", except: ["10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12"] } }] },
    ],
  };
}
