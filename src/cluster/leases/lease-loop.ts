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
import { mirrorTrouble } from "../../chain/mirror-trouble.ts";
import { runs } from "../../chain/records.ts";
import { kinds } from "../../kube/kinds.ts";
import { minute } from "../../runtime/durations.ts";
import { done, type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import { createDeploy, type DeployDeps } from "./deploy.ts";
import { isBehindCluster, readTruth } from "./lease-truth.ts";
import { createTeardown, type TeardownDeps } from "./teardown.ts";

/** How often a lease is looked at that nothing has happened to. It asks nobody for anything. */
export const leaseRecheckMs = 10 * minute;

type LeaseLoopDeps = DeployDeps &
  TeardownDeps & {
    /** Why no policies can be made now; every lease that runs has some. */
    readonly networkTrouble: () => string | undefined;
  };

export function createLeaseLoop(deps: LeaseLoopDeps) {
  const { chain, states, live, networkTrouble } = deps;
  const deploy = createDeploy(deps);
  const teardown = createTeardown(deps);

  function unknown(key: string, on: string, why: string): Outcome {
    states.note(key, { state: "unknown", why });
    return waiting(on, why);
  }

  return async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    const unbuilt = mirrorTrouble(chain.mirror);
    if (unbuilt !== undefined) return unknown(key, "chain", unbuilt);
    const truth = readTruth(key, deps);
    const ends = !runs(truth.lease);
    const needed = ends ? [kinds.namespace] : [kinds.namespace, kinds.manifest];
    const wrong = live.troubleOf(...needed) ?? (ends ? undefined : networkTrouble());
    if (wrong !== undefined) return unknown(key, "cluster", wrong);
    if (ends) return teardown(truth, signal);
    if (isBehindCluster(truth, chain)) return unknown(key, "manifest", "its manifest is not in the journal yet");
    if (!truth.row) {
      states.note(key, { state: "waiting for manifest" });
      return done();
    }
    const outcome = await deploy(truth, signal);
    return outcome.kind === "done" ? recheck(leaseRecheckMs) : outcome;
  };
}
