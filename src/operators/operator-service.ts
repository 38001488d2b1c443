/** What the operators have in common: dependencies, options, and the service around an operator with its listeners. */
import type { Kube } from "../kube/kube.ts";
import type { RuntimeDeps } from "../runtime/deps.ts";
import type { ResourceService, Scope } from "../runtime/lifecycle.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Queue } from "../runtime/queue.ts";

export interface OperatorDeps extends RuntimeDeps {
  readonly kube: Kube;
}

/** The same while the services below may not have started yet, and the page of metrics. */
export interface OperatorServiceDeps extends RuntimeDeps {
  readonly kube: Promise<Kube>;
  readonly metrics: Pick<Metrics, "text" | "contentType">;
}

export type Opened<Ground> = { readonly [Part in keyof Ground]: Awaited<Ground[Part]> };

export interface OperatorServiceOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly restPort: number;
  readonly grpcPort: number;
  readonly version: string;
}

/** The settings may need the cluster, to learn what pod we run in. */
export type SettleOptions<Options> = (kube: Kube, scope: Scope) => Promise<Options> | Options;

interface OperatorParts {
  readonly operator: { readonly waitingFor: string | undefined; readonly queues: readonly Queue[] };
  readonly host: string;
  readonly rest: { readonly port: number };
  readonly grpc: { readonly port: number };
}

interface OperatorViews<Options, Ground, Parts, Thing, Document> {
  readonly name: string;
  /** Resolves when it listens; until the cluster was read, its answers have the reason. */
  readonly start: (options: Options, deps: Opened<Ground>, scope: Scope) => Promise<Parts>;
  readonly opens: (parts: Parts) => Thing;
  /** The path of REST that shows the most. */
  readonly page: string;
  readonly waitingFor?: (parts: Parts) => string | undefined;
  /** Of `detail`, before the addresses. */
  readonly summary?: (parts: Parts) => string;
  readonly status: (parts: Parts | undefined) => Document | undefined;
  readonly measure: (metrics: Metrics, parts: Parts) => void;
}

export function createOperatorService<
  Options,
  Ground extends OperatorServiceDeps,
  Parts extends OperatorParts,
  Thing,
  Document,
>(
  views: OperatorViews<Options, Ground, Parts, Thing, Document>,
  settle: SettleOptions<Options>,
  deps: Ground,
): ResourceService<Thing, Document> {
  const { name, page, waitingFor = ({ operator }) => operator.waitingFor, summary = () => "" } = views;
  const { promise: opened, resolve } = Promise.withResolvers<Thing>();
  let parts: Parts | undefined;
  return {
    name,
    opened,
    async start(scope) {
      const started = Object.entries(deps).map(async ([what, service]) => [what, await service] as const);
      const open = Object.fromEntries(await Promise.all(started)) as Opened<Ground>;
      const log = deps.log.with({ module: name });
      parts = await views.start(await settle(open.kube, scope), { ...open, log }, scope);
      resolve(views.opens(parts));
    },
    detail() {
      if (!parts) return "";
      const { host, rest, grpc } = parts;
      return waitingFor(parts) ?? `${summary(parts)}http://${host}:${rest.port}${page}, gRPC ${host}:${grpc.port}`;
    },
    status: () => views.status(parts),
    get queues() {
      return parts?.operator.queues ?? [];
    },
    measure: (metrics) => parts && views.measure(metrics, parts),
  };
}
