/** The metrics API, metrics.k8s.io, as metrics-server has it: what pods and nodes use now. It cannot be watched. */
import { apiVersionOf, type Kind, kinds, resourceOf } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import type { ContainerUsage, PodRuntime } from "../../components/kubelet/pod-runtime.ts";
import type { Pod } from "../../components/shapes/pod.ts";
import { durationText, stampOf } from "../../components/shapes/time.ts";
import { notFound } from "../objects/rejections.ts";
import { noSuchResource, StatusError } from "../objects/status-error.ts";
import { servedOf } from "../served-kinds.ts";
import { readSelection, type Server } from "../server.ts";
import { type ApiAnswer, type Call, jsonAnswer } from "./api-request.ts";

interface MetricsDeps {
  readonly server: Server;
  readonly runtime: PodRuntime;
  readonly nowMs: number;
}

const { podMetrics, nodeMetrics } = kinds;
const windowText = durationText(15_000);

export function isMetrics({ group, version }: Pick<Kind, "group" | "version">): boolean {
  return group === podMetrics.group && version === podMetrics.version;
}

export function describeMetrics(path: string): unknown {
  if (path !== `/apis/${apiVersionOf(podMetrics)}`) return undefined;
  const resources = [nodeMetrics, podMetrics].map(({ plural: name, namespaced, kind }) => {
    return { name, singularName: "", namespaced, kind, verbs: ["get", "list"] };
  });
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion: apiVersionOf(podMetrics), resources };
}

export function answerMetrics(deps: MetricsDeps, { route, query, verb }: Call): ApiAnswer {
  const { namespace, name, plural } = route;
  const [kind, measured] =
    plural === podMetrics.plural ? ([podMetrics, kinds.pod] as const) : ([nodeMetrics, kinds.node] as const);
  if (plural !== kind.plural) throw noSuchResource();
  if (verb !== "get" && verb !== "list") {
    throw new StatusError(
      405,
      "MethodNotAllowed",
      `${verb} is not supported on resources of kind "${resourceOf(kind)}"`,
    );
  }
  const of = servedOf(deps.server.served, measured);
  const labelSelector = query.get("labelSelector") ?? undefined;
  const wanted = readSelection(of, { namespace, labelSelector });
  const found = deps.server.store
    .list(of)
    .filter((object) => wanted(object) && (name ?? object.metadata.name) === object.metadata.name);
  const items = found.flatMap((object) => metricsOf(deps, kind, object));
  const [first] = items;
  if (name === undefined) {
    return jsonAnswer({ kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata: {}, items });
  }
  if (!first) throw notFound(measured, name);
  return jsonAnswer({ kind: kind.kind, apiVersion: apiVersionOf(kind), ...first });
}

/** None for what has not been measured yet. */
function metricsOf({ server, runtime, nowMs }: MetricsDeps, kind: Kind, object: KubeObject): object[] {
  const { name, namespace, labels } = object.metadata;
  const about = {
    metadata: { name, ...(namespace !== undefined && { namespace }), creationTimestamp: stampOf(nowMs), labels },
    ...{ timestamp: stampOf(nowMs), window: windowText },
  };
  if (kind === nodeMetrics) {
    const pods = server.store.list(servedOf(server.served, kinds.pod)) as readonly Pod[];
    const here = pods.filter(({ spec }) => spec.nodeName === name);
    return [{ ...about, usage: usageList(here.flatMap((pod) => runtime.usage(pod))) }];
  }
  const containers = runtime.usage(object);
  return containers.length === 0
    ? []
    : [{ ...about, containers: containers.map((each) => ({ name: each.name, usage: usageList([each]) })) }];
}

function usageList(containers: readonly ContainerUsage[]): Record<string, string> {
  const sum = (amount: (each: ContainerUsage) => bigint) =>
    containers.reduce((total, each) => total + amount(each), 0n);
  return { cpu: `${sum(({ cpuNano }) => cpuNano)}n`, memory: `${sum(({ memoryBytes }) => memoryBytes) / 1024n}Ki` };
}
