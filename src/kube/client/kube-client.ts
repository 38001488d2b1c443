/** The Kubernetes client over a transport. */
import { type Boundary, openBoundary } from "../../runtime/boundary.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { type Kind, kinds, objectText } from "../kinds.ts";
import type { Kube, KubeObject, KubeVersion, ObjectAt, WatchCache } from "../kube.ts";
import { ListWatch } from "./list-watch.ts";
import { followLogs } from "./logs.ts";
import { listAll } from "./pages.ts";
import { createRequests, kubeAnswerBytes, type RequestLimits } from "./requests.ts";
import { createServedGroups } from "./served-groups.ts";
import type { Transport } from "./transport.ts";
import { objectPath } from "./transport.ts";
import { createApply, createLastWrites, createWrites } from "./writes.ts";

/** Objects whose last apply is remembered: 2,000 leases of ten objects. */
const kubeAppliedObjects = 20_000;

export interface KubeDeps extends RuntimeDeps {
  readonly boundary?: Boundary;
}

export function createKubeClient(transport: Transport, fieldManager: string, deps: KubeDeps): Kube {
  const { clock, random, boundary = openBoundary } = deps;
  const log = deps.log.with({ module: "kube" });
  const ending = new AbortController();
  const { signal: closing } = ending;
  const requests = createRequests({ transport, clock, random, closing, log });
  const served = createServedGroups(requests, clock);
  const watches = new Set<WatchCache<unknown>>();
  const lastWrites = createLastWrites(kubeAppliedObjects);

  async function get(kind: Kind, at: ObjectAt, call: RequestLimits): Promise<KubeObject | undefined> {
    const operation = { verb: "get", resource: objectText(kind, at), ...call };
    return absentAsUndefined(requests.json({ ...operation, path: objectPath(kind, at) }));
  }

  const writeDeps = { requests, fieldManager, boundary, lastWrites, get };

  return {
    fieldManager,
    watch(wanted) {
      const cache = new ListWatch(wanted, { requests, served, clock, random, log }, () => watches.delete(cache));
      watches.add(cache);
      return cache;
    },
    serves: served.serves,
    get: (kind, at, options = {}) => get(kind, at, requests.begin(options)),
    list: (kind, options = {}) => listAll(requests, kind, { ...options, ...requests.begin(options) }),
    ...createWrites(writeDeps),
    apply: createApply(writeDeps),
    logs: (at, options = {}) => followLogs(at, options, { requests, clock, random, closing }),
    exec: (at, options) => transport.exec(at, options),
    forwardPort: (at, port, options = {}) => transport.forwardPort(at, port, options),
    proxy(target, request = {}) {
      const { path = "/", mostBytes = kubeAnswerBytes } = request;
      const kind: Kind = target.kind === "pod" ? kinds.pod : kinds.service;
      const outside = objectPath(kind, { namespace: target.namespace, name: `${target.name}:${target.port}` });
      // Made plain before it is put behind ours: dots in it must not lead to other parts of the API.
      const inside = new URL(path, "http://inside");
      const operation = { verb: "reach", resource: objectText(kind, target), ...requests.begin(request) };
      return requests.proxied({ ...operation, path: `${outside}/proxy${inside.pathname}${inside.search}`, mostBytes });
    },
    version(options = {}) {
      const operation = { verb: "get", resource: "version", ...requests.begin(options) };
      return requests.json({ ...operation, path: "/version" }) as Promise<KubeVersion>;
    },
    counts: requests.counts,
    watches,
    async close() {
      ending.abort(new Error("the client is closed"));
      await Promise.all([...watches].map((cache) => cache.close()));
      transport.close();
    },
  };
}

async function absentAsUndefined(answer: Promise<unknown>): Promise<KubeObject | undefined> {
  try {
    return (await answer) as KubeObject;
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND")) return undefined;
    throw thrown;
  }
}
