/** What a cluster has before anybody uses it. */
import { type Kind, kinds } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import type { Ground } from "./part.ts";

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];
/** Where the API server would listen, and where pods find it. */
const controlPlane = { ip: "192.168.9.1", port: 6_443 };
const clusterIP = "10.96.0.1";
const by = "kube-apiserver";

export function bootstrap({ server, view }: Ground): void {
  const ensure = (kind: Kind, object: KubeObject) => {
    if (!view.get(kind, object.metadata)) server.create(kind, object, by);
  };
  for (const name of namespaces) ensure(kinds.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const metadata = { name: "kubernetes", namespace: "default" };
  const ports = [{ name: "https", protocol: "TCP", port: 443, targetPort: controlPlane.port }];
  const endpointPorts = [{ name: "https", protocol: "TCP", port: controlPlane.port }];
  ensure(kinds.service, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...metadata, labels: { component: "apiserver", provider: "kubernetes" } },
    spec: { type: "ClusterIP", clusterIP, clusterIPs: [clusterIP], ports },
  });
  ensure(kinds.endpoints, {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata,
    subsets: [{ addresses: [{ ip: controlPlane.ip }], ports: endpointPorts }],
  });
  ensure(kinds.endpointSlice, {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": "kubernetes" } },
    addressType: "IPv4",
    endpoints: [{ addresses: [controlPlane.ip], conditions: { ready: true } }],
    ports: endpointPorts,
  });
}
