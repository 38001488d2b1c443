/** One kind of objects of our leases, watched once for all who need them. */
import type { Kind } from "../../../kube/kinds.ts";
import type { Change, Kube, KubeObject, WatchCache } from "../../../kube/kube.ts";
import { managedSelector } from "../../../kube/objects/lease-labels.ts";
import type { Scope } from "../../../runtime/lifecycle.ts";

export interface LeaseWatch<T> {
  /** Before it is opened; then everybody is told of everything. */
  onChange(listener: (change: Change<T>) => void): void;
  /** In the namespace of a lease. */
  in(namespace: string): Iterable<T>;
  list(): Iterable<T>;
  /** Undefined until it is opened. */
  readonly cache: WatchCache<T> | undefined;
  /** Resolves when it is known what there is. */
  open(scope: Pick<Scope, "signal" | "onStop">): Promise<void>;
}

export function createLeaseWatch<T extends { readonly namespace: string }>(
  kube: Pick<Kube, "watch">,
  kind: Kind,
  project: (object: KubeObject) => T,
): LeaseWatch<T> {
  const listeners: ((change: Change<T>) => void)[] = [];
  let cache: WatchCache<T, "lease"> | undefined;
  return {
    onChange: (listener) => void listeners.push(listener),
    in: (namespace) => cache?.by("lease", namespace) ?? [],
    list: () => cache?.list() ?? [],
    get cache() {
      return cache;
    },
    async open({ signal, onStop }) {
      const opened = kube.watch<T, "lease">({
        kind,
        labelSelector: managedSelector,
        indexes: { lease: ({ namespace }: T) => namespace },
        project,
        handle(change) {
          for (const listener of listeners) listener(change);
        },
      });
      cache = opened;
      onStop(() => opened.close());
      await opened.synced(signal);
    },
  };
}
