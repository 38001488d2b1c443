/** EndpointSlices: the ready pods behind a Service, as read by ingress controllers. */
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../../kube/kinds.ts";
import { selects } from "../../api-server/objects/label-selector.ts";
import type { Component, ComponentDeps } from "../component.ts";
import { atOf, isDeleting, keyOf, type Stored } from "../shapes/metadata.ts";
import { isFinished, isReady, type Pod } from "../shapes/pod.ts";

interface Service extends Stored {
  readonly spec: {
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly ServicePort[];
  };
}

interface ServicePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port: number;
  readonly targetPort?: number | string;
}

const kind = kinds.endpointSlice;

/** One slice holds all that a Service has: the real limit of a hundred is about the size of what is sent. */
export function createEndpointSlices({ server, view }: ComponentDeps): Component {
  function work(key: string): undefined {
    const service = view.get<Service>(kinds.service, atOf(key));
    if (!service || isDeleting(service) || !service.spec.selector) return;
    const { namespace = "", name, uid, labels } = service.metadata;
    const pods = view.list<Pod>(kinds.pod, namespace).filter((pod) => isBehind(service, pod));
    const metadata = {
      name: `${name}-${uid.slice(0, 5)}`,
      namespace,
      labels: {
        ...labels,
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": name,
      },
      ownerReferences: [{ apiVersion: "v1", kind: "Service", name, uid, controller: true, blockOwnerDeletion: true }],
    };
    const wanted = { addressType: "IPv4", endpoints: pods.map(endpointOf), ports: portsOf(service, pods[0]) };
    const live = view.get(kind, metadata);
    if (!live) {
      if (view.isOpen(namespace)) server.create(kind, { metadata, ...wanted });
      return;
    }
    const { endpoints, ports } = live as Stored & Partial<typeof wanted>;
    if (isDeepStrictEqual([endpoints, ports], [wanted.endpoints, wanted.ports])) return;
    server.update(kind, { ...live, ...wanted });
  }

  return {
    name: "endpointSlices",
    notice({ kind: changed, object }, wake) {
      if (changed === kinds.service) wake(keyOf(object.metadata));
      if (changed !== kinds.pod) return;
      for (const service of view.list<Service>(kinds.service, object.metadata.namespace)) {
        if (selectedBy(service, object as Pod)) wake(keyOf(service.metadata));
      }
    },
    work,
  };
}

function selectedBy({ spec }: Service, { metadata }: Pod): boolean {
  return spec.selector !== undefined && selects({ matchLabels: spec.selector }, metadata.labels);
}

function isBehind(service: Service, pod: Pod): boolean {
  return selectedBy(service, pod) && pod.status?.podIP !== undefined && !isFinished(pod);
}

function endpointOf(pod: Pod): object {
  const { metadata, spec, status } = pod;
  const [ready, terminating] = [isReady(pod), isDeleting(pod)];
  const { namespace, name, uid } = metadata;
  return {
    addresses: [status?.podIP],
    conditions: { ready: ready && !terminating, serving: ready, terminating },
    nodeName: spec.nodeName,
    targetRef: { kind: "Pod", namespace, name, uid },
  };
}

function portsOf({ spec }: Service, pod: Pod | undefined): object[] {
  return (spec.ports ?? []).map(({ name = "", port, protocol = "TCP", targetPort = port }) => ({
    name,
    port: typeof targetPort === "number" ? targetPort : (namedPort(pod, targetPort) ?? port),
    protocol,
  }));
}

function namedPort(pod: Pod | undefined, name: string): number | undefined {
  const ports = pod?.spec.containers.flatMap((container) => container.ports ?? []) ?? [];
  return ports.find((each) => each.name === name)?.containerPort;
}
