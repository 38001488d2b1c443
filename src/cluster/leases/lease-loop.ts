/**
 * The loop of one lease, from its manifest to its end. It runs alike at start, on an event, after an error and on a
 * timer: it reads what chain, journal and cluster say, and makes the smallest change that brings them together.
 *
 *   runs, no manifest        nothing is made; the manifest service waits for it
 *   runs, manifest           its objects are made, put back or taken away, step by step
 *   runs, refused            what ran before goes on
 *   runs, withdrawn          its walls stay, and its volumes
 *   does not run             torn down, where the chain itself says that it is over
 *   nobody knows             nothing is touched, and that is said
 */
import type { Chain } from "../../chain/chain.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Kube } from "../../kube/kube.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import { runs } from "../reservations/upkeep.ts";
import { createDeploy, type DeployDeps } from "./deploy.ts";
import type { LeaseStates } from "./lease-states.ts";
import { isBehindCluster, readTruth } from "./lease-truth.ts";
import type { LiveObjects } from "./live-objects.ts";
import { createTeardown, type TeardownDeps } from "./teardown.ts";

export interface LeaseLoopDeps extends DeployDeps, TeardownDeps {
  readonly chain: Pick<Chain, "mirror" | "queries" | "provider">;
  readonly journal: Pick<Journal, "read" | "durable" | "relaxed">;
  readonly kube: Kube;
  readonly live: LiveObjects;
  readonly states: LeaseStates;
  readonly log: Log;
}

export function createLeaseLoop(deps: LeaseLoopDeps) {
  const { chain, live, states } = deps;
  const deploy = createDeploy(deps);
  const teardown = createTeardown(deps);

  return async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    if (!chain.mirror.ready) return waiting("chain", "the mirror has not been built yet");
    if (live.trouble !== undefined) {
      states.note(key, { state: "unknown", why: live.trouble });
      return waiting("cluster", live.trouble);
    }
    const truth = readTruth(key, deps);
    if (!runs(truth.lease)) return teardown(truth, signal);
    if (isBehindCluster(truth)) {
      const why = "its manifest is in the cluster and not yet in the journal";
      states.note(key, { state: "unknown", why });
      return waiting("manifest", why);
    }
    if (!truth.row) {
      states.note(key, { state: "waiting for manifest" });
      return done();
    }
    const outcome = await deploy(truth, signal);
    return outcome.kind === "done" ? recheck(limits.leaseRecheckMs) : outcome;
  };
}
