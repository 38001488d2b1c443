/**
 * Takes away what a lease was, on proof alone: the chain itself has said, at a height that we know of, that it is over.
 * What is gone is what the server no longer has.
 */
import { type Lease, runs } from "../../chain/records.ts";
import { kinds } from "../../kube/kinds.ts";
import { leaseOfLabels } from "../../kube/objects/lease-labels.ts";
import { formatLeaseId, type LeaseId } from "../../market/ids.ts";
import { withDeadline } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { done, type Outcome, recheck, stalled, waiting } from "../../runtime/outcome.ts";
import { removeManifestResource } from "./deploy.ts";
import type { LiveNamespace } from "./live-objects.ts";
import type { ObservedLease } from "./observed-lease.ts";
import type { LeaseDeps } from "./watched-cluster.ts";

/** Recheck while the namespace is deleted, which the cache reports: only updates the reason for the delay. */
const leaseGoingRecheckMs = 15 * second;
/** A namespace whose pods stop in their usual 30 seconds is gone by then; what holds it longer is shown. */
const leaseHeldMs = minute;
/** A release waits until the cache shows what was written, and a watch may be interrupted; usually that takes milliseconds. */
const releaseWithinMs = 30_000;

/** How its line in the history begins. */
const tornDown = "torn down";

/** Of a lease that does not run, by the mirror. */
export async function teardown(observed: ObservedLease, deps: LeaseDeps, signal: AbortSignal): Promise<Outcome> {
  const { chain, live, hostnames, addresses, states, refreshes } = deps;
  const { key, id, name, namespace } = observed;
  // What carries another provider's address is that one's.
  const isDeclared = hostnames.has(key) || addresses.has(key);
  const isNothing = !observed.row && !namespace && !live.manifest(name) && !isDeclared;
  if (isNothing || id.provider !== chain.provider) {
    states.forget(key);
    return done();
  }
  if (namespace?.deletingSinceMs !== undefined && !isDeclared) return awaitEnd(key, namespace, deps);
  const { value: lease, height } = await proofOf(observed, deps, signal);
  if (runs(lease)) return waiting("chain", "the chain has this lease, and the mirror does not yet");
  if (!lease) {
    return freeze(key, `the chain has no such lease at height ${height}: namespace ${name} is left alone`, deps);
  }
  states.note(key, { state: "closing" });
  const { state, closedOn } = lease;
  refreshes.get(key)?.reject(new ProviderError("AKP_LEASE_OVER", { lease: key, state, closedOn }));
  try {
    return await takeDown(observed, lease, height, deps, signal);
  } catch (thrown) {
    states.tally.teardown.fail += 1;
    states.note(key, { state: "closing", why: reasonOf(thrown) });
    throw thrown;
  }
}

/** Queries the chain itself, at or above the newest known height. While it does not answer, nothing is deleted. */
async function proofOf({ key, id, name }: ObservedLease, { chain, states }: LeaseDeps, signal: AbortSignal) {
  try {
    return await chain.queries.lease(id, { atOrAbove: chain.mirror.height, signal });
  } catch (thrown) {
    const why = `no proof that the lease is over, so namespace ${name} is left alone: ${reasonOf(thrown)}`;
    states.note(key, { state: "frozen", why });
    throw thrown;
  }
}

function freeze(key: string, why: string, { states, log }: LeaseDeps): Outcome {
  const isNews = states.get(key)?.why !== why;
  states.note(key, { state: "frozen", why });
  if (isNews) log.warn("lease frozen", { lease: key, reason: why });
  return stalled(why);
}

async function takeDown(
  observed: ObservedLease,
  { state, closedOn }: Lease,
  height: bigint,
  deps: LeaseDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { hostnames, addresses, journal, states, log } = deps;
  const { key, id, name } = observed;
  // Declarations first, or operators write into a namespace that goes; but what keeps one kind keeps nothing else.
  const released = await Promise.allSettled([hostnames, addresses].map((each) => release(each, id, deps, signal)));
  const going = await removeNamespace(observed, deps, signal);
  for (const each of released) if (each.status === "rejected") throw each.reason;
  if (going) return going;
  await removeManifestResource(deps, name, signal);
  const isFirst = await journal.durable("lease torn down", ({ manifests, history }) => {
    const [last] = history.about(key, 1);
    // A cache that is behind has us look once more at what is gone.
    if (!manifests.get(key) && last?.line.startsWith(tornDown)) return false;
    manifests.remove(key);
    const line = `${tornDown}: ${state} on chain since height ${closedOn}, by a reading at height ${height}`;
    history.add({ kind: "lease", subject: key, line });
    return true;
  });
  if (isFirst) {
    states.tally.teardown.success += 1;
    log.info("tore down lease", { lease: key, state, closedOn, height });
  }
  states.forget(key);
  return done();
}

async function release(
  declared: Pick<LeaseDeps["hostnames"] | LeaseDeps["addresses"], "release" | "error">,
  id: LeaseId,
  { clock }: LeaseDeps,
  signal: AbortSignal,
): Promise<void> {
  const late = new AbortController();
  const releasing = declared.release(id, AbortSignal.any([signal, late.signal]));
  await withDeadline(clock, releaseWithinMs, releasing, () => {
    late.abort();
    const reason = declared.error ?? "its objects are not gone after 30 s";
    throw new ProviderError("AKP_CLUSTER_UNKNOWN", { reason });
  });
}

/** Undefined once the namespace is gone. */
async function removeNamespace(
  { key, name }: ObservedLease,
  deps: LeaseDeps,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { kube } = deps;
  const namespace = await kube.get(kinds.namespace, { name }, { signal });
  if (!namespace) return undefined;
  const { uid, labels, deletionTimestamp } = namespace.metadata;
  const owner = leaseOfLabels(labels);
  if (!owner || formatLeaseId(owner) !== key || uid === undefined) {
    return freeze(key, `namespace ${name} does not say that it is of this lease, and is left alone`, deps);
  }
  try {
    if (deletionTimestamp === undefined) await kube.delete(kinds.namespace, { name }, { uid, signal });
  } catch (thrown) {
    // Another has its name by now; it is looked at anew.
    if (!ProviderError.is(thrown, "AKP_KUBE_OTHER_UID")) throw thrown;
  }
  // The cache reports when it is gone.
  return recheck(leaseGoingRecheckMs);
}

/** Judged by its cache alone. What holds it is shown once that is more than its pods. */
function awaitEnd(key: string, { deletingSinceMs = 0, heldBy }: LiveNamespace, { states, clock }: LeaseDeps): Outcome {
  const seconds = Math.floor((clock.now() - deletingSinceMs) / 1_000);
  const isHeld = heldBy.length > 0 && seconds * 1_000 >= leaseHeldMs;
  states.note(key, { state: "closing", ...(isHeld && { why: `held for ${seconds} s: ${heldBy.join(" ")}` }) });
  return recheck(leaseGoingRecheckMs);
}
