/** Closes an unhealthy lease, by fresh reads of chain and cluster: caches and mirror do not suffice for that. */
import type { Chain } from "../../chain/chain.ts";
import { endingPauseMs, fileEnding } from "../../chain/closing.ts";
import type { Journal } from "../../journal/journal.ts";
import { type ManifestRows, manifestWanted } from "../../journal/manifests.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { managedSelector } from "../../kube/objects/lease-labels.ts";
import { parseLeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { type LeaseHealth, leaseProblemsNamed } from "./lease-health.ts";
import type { CloseResult } from "./monitoring.ts";
import { type PodFacts, podFacts } from "./pod-health.ts";

interface CloseDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "outbox">;
  readonly journal: Pick<Journal, "read" | "durable" | "nowMs">;
  readonly kube: Pick<Kube, "list">;
  /** With these pods instead of those that the cache has. */
  readonly judge: (leaseKey: string, pods: readonly PodFacts[]) => LeaseHealth | undefined;
  readonly log: Log;
}

export function createCloseUnhealthy({ chain, journal, kube, judge, log }: CloseDeps) {
  const { mirror, queries, outbox } = chain;

  return async function close(key: string, observedMs: number, signal: AbortSignal): Promise<CloseResult> {
    if (endingPauseMs(key, journal.read.intents, journal.nowMs()) !== 0) return "later";
    const id = parseLeaseId(key);
    const manifest = versionWanted(key, journal.read.manifests);
    const { value: lease } = await queries.lease(id, { atOrAbove: mirror.height, signal });
    // One that is being reclaimed is closed at its deadline.
    if (lease?.state !== "active") return "later";
    const namespace = leaseNamespace(id);
    const pods = await kube.list(kinds.pod, { namespace, labelSelector: managedSelector, signal });
    const health = judge(key, pods.map(podFacts));
    if (health?.state === "healthy") return "healthy";
    if (!health?.isTenantsFault) return "later";
    const why = `unhealthy for ${Math.round(observedMs / 1_000)} s`;
    const ending = { lease, reason: "unstable", why, details: problemsText(health) } as const;
    // A newer manifest may fix it.
    const isFiled = await fileEnding(
      { ...ending, unless: ({ manifests }) => versionWanted(key, manifests) !== manifest },
      { outbox, journal },
    );
    if (isFiled) log.info("closing unhealthy lease", { lease: key, troubles: health.troubles });
    return isFiled ? "filed" : "later";
  };
}

function versionWanted(key: string, manifests: Pick<ManifestRows, "get">): string | undefined {
  return manifestWanted(manifests.get(key))?.version;
}

function problemsText({ troubles }: LeaseHealth): string {
  const first = troubles.slice(0, leaseProblemsNamed);
  return first.map(({ service, reason, message }) => `${service}: ${reason}: ${message}`).join("; ");
}

/**
 * Creates a namespace that exists: "already exists" comes from etcd itself, which answers otherwise where it is full,
 * read-only or without a quorum.
 */
export function createWriteTrial(kube: Pick<Kube, "create">, existingNamespace: string) {
  return async function tryToWrite(signal: AbortSignal): Promise<void> {
    try {
      await kube.create(kinds.namespace, { metadata: { name: existingNamespace } }, { signal });
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_KUBE_EXISTS")) throw thrown;
    }
  };
}
