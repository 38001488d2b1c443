/** An IP operator with its load balancer, played: every declared port of a lease gets its Service, and that an address as long as there is one. */
import type { SimulatedCluster } from "../../src/box/cluster/simulated-kube.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { idLabels } from "../../src/kube/objects/lease-labels.ts";
import { type IpDeclaration, readLeasedIp } from "../../src/kube/objects/leased-ip.ts";
import { sharingAnnotation } from "../../src/kube/objects/metallb.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import type { Owner } from "./owner.ts";

const manager = "akash-operator-ip";

/** One address for each sharing key, in order; `give` says which key gets none for now. */
export function simulateIpOperator(
  owner: Owner,
  { server }: SimulatedCluster,
  give: (sharingKey: string) => boolean = () => true,
) {
  const addresses = new Map<string, string>();

  /** As the IP operator calls it: another where that one is of another key. */
  function nameOf(namespace: string, { service, externalPort, protocol, sharingKey }: IpDeclaration): string {
    const plain = `${service}-ip-${externalPort}-${protocol}`.toLowerCase();
    const there = server.get(kinds.service, { namespace, name: plain });
    return (there?.metadata.annotations?.[sharingAnnotation] ?? sharingKey) === sharingKey ? plain : `ip-${plain}`;
  }

  function put(object: KubeObject): void {
    const port = readLeasedIp(object);
    if (!port || object.metadata.deletionTimestamp !== undefined) return;
    const namespace = leaseNamespace(port.lease);
    if (!server.get(kinds.namespace, { name: namespace })) return;
    const labels = { ...idLabels(port.lease), "akash.network/service-target": "metal-lb" };
    const name = nameOf(namespace, port);
    const ports = [{ name, protocol: port.protocol, port: port.externalPort, targetPort: port.port }];
    const service = {
      metadata: { name, namespace, labels, annotations: { [sharingAnnotation]: port.sharingKey } },
      spec: { type: "LoadBalancer", selector: { "akash.network/manifest-service": port.service }, ports },
    };
    server.apply(kinds.service, service, { manager, force: true });
    if (!give(port.sharingKey)) return;
    const ip = addresses.get(port.sharingKey) ?? `192.0.2.${addresses.size + 1}`;
    addresses.set(port.sharingKey, ip);
    const now = server.get(kinds.service, { namespace, name });
    if (now) server.updateStatus(kinds.service, { ...now, status: { loadBalancer: { ingress: [{ ip }] } } }, manager);
  }

  function putAll(): void {
    for (const object of [...server.list(kinds.providerLeasedIp)]) put(object);
  }

  owner.after(
    server.subscribe(({ kind, object, type }) => {
      // Not within the write that it hears of.
      if (kind === kinds.providerLeasedIp && type === "added") queueMicrotask(() => put(object));
    }),
  );
  return { putAll, addresses };
}
