/**
 * The volume claims of our leases, watched once for all who need them: the reservations (what of the promised volumes is
 * there) and health (of a tenant whose volume is not there yet, that is what he waits for).
 */
import { fieldsOf, textOf } from "../../kube/json-fields.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Change, Kube, KubeObject, WatchCache } from "../../kube/kube.ts";
import { managedSelector, serviceLabel } from "../../kube/objects/lease-labels.ts";
import { parseBytes } from "../../market/quantity.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Scope } from "../../runtime/lifecycle.ts";
import type { ClaimFacts } from "../health/judge.ts";

export interface LeaseClaim extends ClaimFacts {
  readonly uid: string;
  /** The lease's. */
  readonly namespace: string;
  /** What its volume takes; undefined while it has none. */
  readonly bytes: bigint | undefined;
  /** Of the object when it was seen like this. */
  readonly version: string;
}

export type LeaseClaims = ReturnType<typeof createLeaseClaims>;

export function createLeaseClaims(kube: Pick<Kube, "watch">) {
  const listeners: ((change: Change<LeaseClaim>) => void)[] = [];
  let cache: WatchCache<LeaseClaim, "lease"> | undefined;
  return {
    /** Before it is opened; then everybody is told of everything. */
    onChange: (listener: (change: Change<LeaseClaim>) => void) => void listeners.push(listener),
    /** In the namespace of a lease. */
    in: (namespace: string): Iterable<LeaseClaim> => cache?.by("lease", namespace) ?? [],
    /** Undefined until it is opened. */
    get cache(): WatchCache<LeaseClaim> | undefined {
      return cache;
    },
    /** Resolves when it is known which there are. */
    async open({ signal, onStop }: Pick<Scope, "signal" | "onStop">): Promise<void> {
      const opened = kube.watch<LeaseClaim, "lease">({
        kind: kinds.persistentVolumeClaim,
        labelSelector: managedSelector,
        indexes: { lease: ({ namespace }: LeaseClaim) => namespace },
        project: projectLeaseClaim,
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

export function projectLeaseClaim(claim: KubeObject): LeaseClaim {
  const { name, namespace = "", uid, resourceVersion, labels } = claim.metadata;
  const [spec, status] = [fieldsOf(claim["spec"]), fieldsOf(claim["status"])];
  const phase = textOf(status["phase"]) ?? "Pending";
  // A volume may be larger than what was asked for, and the claim says so once it has it.
  const size = fieldsOf(status["capacity"])["storage"] ?? fieldsOf(fieldsOf(spec["resources"])["requests"])["storage"];
  return {
    uid: uid ?? `${namespace}/${name}`,
    namespace,
    service: labels?.[serviceLabel] ?? "",
    storageClass: textOf(spec["storageClassName"]),
    phase,
    bytes: phase === "Bound" ? readBytes(size) : undefined,
    version: resourceVersion ?? "",
  };
}

/** What cannot be read is as if it were not there: then more is kept than needed, and nothing is sold twice. */
function readBytes(size: unknown): bigint | undefined {
  try {
    return parseBytes(String(size));
  } catch (thrown) {
    if (!(thrown instanceof ProviderError)) throw thrown;
    return undefined;
  }
}
