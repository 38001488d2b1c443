/** The pods behind a service, as EndpointSlices and as the older Endpoints. */
import { isDeepStrictEqual } from "node:util";
import { kinds } from "../../../kinds.ts";
import { randomSuffix } from "../names.ts";
import { type Ground, managers, type Part } from "../part.ts";
import { atOf, byAge, controllerReference, isDeleting, keyOf } from "../shapes/metadata.ts";
import type { Endpoint, EndpointPort, EndpointSlice, Service, ServicePort } from "../shapes/network.ts";
import { isFinished, isReady, type Pod } from "../shapes/pod.ts";
import { selects } from "../shapes/selector.ts";

const serviceLabel = "kubernetes.io/service-name";
const managedBy = { "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io" };
/** What a real slice holds at most. */
const sliceEndpoints = 100;

export function createEndpoints(ground: Ground): Part {
  const { server, view, random } = ground;

  function work(key: string): undefined {
    const at = atOf(key);
    const service = view.get<Service>(kinds.service, at);
    if (!service) {
      server.delete(kinds.endpoints, at);
      return;
    }
    if (!service.spec.selector || isDeleting(service) || !view.isOpen(at.namespace ?? "")) return;
    const { selector, publishNotReadyAddresses = false } = service.spec;
    const pods = view
      .list<Pod>(kinds.pod, at.namespace)
      .filter((pod) => pod.status?.podIP && !isFinished(pod) && selects({ matchLabels: selector }, pod.metadata.labels))
      .sort(byAge);
    const groups = new Map<string, Behind>();
    for (const pod of pods) {
      const ports = portsOf(service, pod);
      const group = groups.get(JSON.stringify(ports)) ?? { ports, endpoints: [] };
      groups.set(JSON.stringify(ports), group);
      group.endpoints.push(endpointOf(pod, publishNotReadyAddresses));
    }
    if (groups.size === 0) groups.set("", { ports: [], endpoints: [] });
    writeSlices(service, [...groups.values()]);
    writeEndpoints(service, [...groups.values()]);
  }

  function writeSlices(service: Service, groups: readonly Behind[]): void {
    const free = view.owned<EndpointSlice>(kinds.endpointSlice, service.metadata.uid);
    for (const { ports, endpoints } of groups) {
      const mine = free.filter((slice) => isDeepStrictEqual(slice.ports, ports));
      for (const slice of mine) free.splice(free.indexOf(slice), 1);
      for (const [index, chunk] of distribute(endpoints, mine).entries()) {
        const slice = mine[index];
        if (!slice) createSlice(service, ports, chunk);
        else if (chunk.length === 0 && groups.length + endpoints.length > 1) remove(slice);
        else if (!isDeepStrictEqual(slice.endpoints, chunk)) {
          server.update(kinds.endpointSlice, { ...slice, endpoints: chunk }, managers.controllers);
        }
      }
    }
    for (const slice of free) remove(slice);
  }

  function createSlice(service: Service, ports: readonly EndpointPort[], endpoints: readonly Endpoint[]): void {
    const { name, namespace = "", labels } = service.metadata;
    const metadata = {
      name: `${name}-${randomSuffix(random)}`,
      generateName: `${name}-`,
      namespace,
      labels: { ...labels, ...managedBy, [serviceLabel]: name },
      ownerReferences: [controllerReference(kinds.service, service)],
    };
    const made = {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata,
      addressType: "IPv4",
      endpoints,
      ports,
    };
    server.create(kinds.endpointSlice, made, managers.controllers);
  }

  function remove({ metadata: { namespace, name } }: EndpointSlice): void {
    server.delete(kinds.endpointSlice, { namespace, name });
  }

  function writeEndpoints(service: Service, groups: readonly Behind[]): void {
    const { name, namespace = "", labels } = service.metadata;
    const subsets = groups.filter(({ endpoints }) => endpoints.length > 0).map(subsetOf);
    const before = view.get(kinds.endpoints, { namespace, name });
    if (before && isDeepStrictEqual(before["subsets"], subsets)) return;
    const made = { apiVersion: "v1", kind: "Endpoints", metadata: { name, namespace, ...(labels ? { labels } : {}) } };
    if (before) server.update(kinds.endpoints, { ...before, subsets }, managers.controllers);
    else server.create(kinds.endpoints, { ...made, subsets }, managers.controllers);
  }

  return {
    name: "endpoints",
    notice({ type, kind, object }, wake) {
      if (kind === kinds.service) wake(keyOf(object.metadata));
      if (kind !== kinds.pod) return;
      const pod = object as Pod;
      // Before it has an address, and as long as nothing of this changes, nobody could reach it anyway.
      if (type === "added" || !pod.status?.podIP) return;
      for (const service of view.list<Service>(kinds.service, pod.metadata.namespace)) {
        const { selector } = service.spec;
        if (selector && selects({ matchLabels: selector }, pod.metadata.labels)) wake(keyOf(service.metadata));
      }
    },
    work,
  };
}

/** Pods with the same ports; a named port may mean another number in each. */
interface Behind {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Endpoint[];
}

/** Who is in a slice already stays there, so that one pod's change rewrites one slice. */
function distribute(endpoints: readonly Endpoint[], slices: readonly EndpointSlice[]): Endpoint[][] {
  const left = new Map(endpoints.map((endpoint) => [endpoint.targetRef?.uid, endpoint]));
  const chunks = slices.map((slice) =>
    slice.endpoints.flatMap(({ targetRef }) => {
      const endpoint = left.get(targetRef?.uid);
      left.delete(targetRef?.uid);
      return endpoint ? [endpoint] : [];
    }),
  );
  for (const endpoint of left.values()) {
    const chunk = chunks.find(({ length }) => length < sliceEndpoints);
    if (chunk) chunk.push(endpoint);
    else chunks.push([endpoint]);
  }
  return chunks.length === 0 ? [[]] : chunks;
}

function endpointOf(pod: Pod, publishNotReady: boolean): Endpoint {
  const { name, namespace, uid } = pod.metadata;
  const serving = isReady(pod);
  const terminating = isDeleting(pod);
  return {
    addresses: [pod.status?.podIP ?? ""],
    conditions: { ready: publishNotReady || (serving && !terminating), serving, terminating },
    ...(pod.spec.nodeName ? { nodeName: pod.spec.nodeName } : {}),
    targetRef: { kind: "Pod", name, uid, ...(namespace ? { namespace } : {}) },
  };
}

function portsOf({ spec }: Service, pod: Pod): EndpointPort[] {
  return (spec.ports ?? []).flatMap(({ name = "", protocol = "TCP", ...rest }) => {
    const port = targetOf(rest, pod);
    return port === undefined ? [] : [{ name, port, protocol }];
  });
}

/** A number, or the name that a container of the pod gave it. */
function targetOf({ port, targetPort = port }: Pick<ServicePort, "port" | "targetPort">, pod: Pod): number | undefined {
  if (typeof targetPort === "number") return targetPort;
  const ports = pod.spec.containers.flatMap((container) => container.ports ?? []);
  return ports.find(({ name }) => name === targetPort)?.containerPort;
}

function subsetOf({ ports, endpoints }: Behind) {
  const address = ({ addresses: [ip], nodeName, targetRef }: Endpoint) => ({ ip, nodeName, targetRef });
  const ready = endpoints.filter(({ conditions }) => conditions.ready).map(address);
  const notReady = endpoints.filter(({ conditions }) => !conditions.ready && !conditions.terminating).map(address);
  return {
    ...(ready.length > 0 ? { addresses: ready } : {}),
    ...(notReady.length > 0 ? { notReadyAddresses: notReady } : {}),
    ports: ports.map(({ name, ...port }) => (name === "" ? port : { name, ...port })),
  };
}
