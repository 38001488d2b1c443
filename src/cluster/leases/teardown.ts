/**
 * Takes away what a lease was, on proof alone: the chain itself has said, at a height that we know of, that it is over.
 * What is gone is what the server no longer has.
 */
import type { Chain } from "../../chain/chain.ts";
import type { Journal } from "../../journal/journal.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { leaseOfLabels } from "../../kube/objects/lease-labels.ts";
import { formatLeaseId } from "../../market/ids.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck, stalled, waiting } from "../../runtime/outcome.ts";
import { runs } from "../reservations/upkeep.ts";
import type { LeaseStates } from "./lease-states.ts";
import type { LeaseTruth } from "./lease-truth.ts";
import type { LiveNamespace, LiveObjects } from "./live-objects.ts";

export interface TeardownDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider">;
  readonly journal: Pick<Journal, "durable">;
  readonly kube: Pick<Kube, "get" | "delete">;
  readonly live: LiveObjects;
  readonly states: LeaseStates;
  readonly manifestNamespace: string;
  readonly clock: Clock;
  readonly log: Log;
}

export function createTeardown(deps: TeardownDeps) {
  const { chain, journal, kube, live, states, clock, log } = deps;

  return async function teardown(truth: LeaseTruth, signal: AbortSignal): Promise<Outcome> {
    const { key, id, name } = truth;
    if (!truth.row && !truth.namespace && !live.manifest(name)) {
      states.forget(key);
      return done();
    }
    if (id.provider !== chain.provider) return done();
    if (truth.namespace?.deletingSinceMs !== undefined) return awaitEnd(truth, truth.namespace);
    const proof = await chain.queries.lease(id, { atOrAbove: chain.mirror.height, signal });
    if (runs(proof.value)) return waiting("chain", "the mirror does not have this lease yet, and the chain does");
    if (!proof.value) {
      const why = `the chain has no lease of this id at height ${proof.height}; its namespace ${name} is left alone`;
      states.note(key, { state: "frozen", why });
      return stalled(why);
    }
    states.note(key, { state: "closing" });
    const namespace = await kube.get(kinds.namespace, { name }, { signal });
    if (namespace) {
      const owner = leaseOfLabels(namespace.metadata.labels);
      const { uid, deletionTimestamp } = namespace.metadata;
      if (!owner || formatLeaseId(owner) !== key || uid === undefined) {
        const why = `the namespace ${name} does not say that it is of this lease, and is left alone`;
        states.note(key, { state: "frozen", why });
        return stalled(why);
      }
      if (deletionTimestamp === undefined) await remove(name, uid, signal);
      // The cache tells when it is gone.
      return recheck(limits.leaseGoingRecheckMs);
    }
    await removeManifestResource(deps, name, signal);
    const { state, closedOn } = proof.value;
    await journal.durable("lease torn down", ({ manifests, history }) => {
      manifests.remove(key);
      const line = `torn down: ${state} on chain since height ${closedOn}, read at height ${proof.height}`;
      history.add({ kind: "lease", subject: key, line });
    });
    log.info("tore a lease down", { lease: key, state, closedOn, height: proof.height });
    states.forget(key);
    return done();
  };

  async function remove(name: string, uid: string, signal: AbortSignal): Promise<void> {
    try {
      await kube.delete(kinds.namespace, { name }, { uid, signal });
    } catch (thrown) {
      // Another has its name by now; it is looked at anew.
      if (!ProviderError.is(thrown, "AKP_KUBE_OTHER_UID")) throw thrown;
    }
  }

  function awaitEnd({ key }: LeaseTruth, { deletingSinceMs = 0, heldBy }: LiveNamespace): Outcome {
    const seconds = Math.floor((clock.now() - deletingSinceMs) / 1_000);
    const isHeld = heldBy.length > 0 && seconds * 1_000 >= limits.leaseHeldMs;
    states.note(key, {
      state: "closing",
      ...(isHeld && { why: `held for ${seconds} s: ${heldBy.join("; ")}` }),
    });
    return recheck(limits.leaseGoingRecheckMs);
  }
}

type ManifestDeps = Pick<TeardownDeps, "live" | "manifestNamespace"> & { readonly kube: Pick<Kube, "delete"> };

export async function removeManifestResource(
  { kube, live, manifestNamespace: namespace }: ManifestDeps,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const { uid } = live.manifest(name)?.metadata ?? {};
  if (uid !== undefined) await kube.delete(kinds.manifest, { namespace, name }, { uid, signal });
}
