/**
 * Keeps one discovery pod on every node that wants one, asks it what the node has, and remembers the last good answer.
 * A pod that has ended is replaced, ever more slowly where it does not last; one of another version is asked first, and
 * replaced when it is the node's turn. An answer that does not come takes nothing away.
 */

import { kinds } from "../../../kube/kinds.ts";
import type { KubeObject, WatchCache } from "../../../kube/kube.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import type { Scope } from "../../../runtime/lifecycle.ts";
import { ownPodRetryMs } from "../../../runtime/limits.ts";
import { done, type Outcome, recheck, waiting } from "../../../runtime/outcome.ts";
import { createQueue } from "../../../runtime/queue.ts";
import type { OperatorGround } from "../../ground.ts";
import type { Hardware } from "../hardware.ts";
import { readHardwareAnswer } from "../hardware.ts";
import {
  type DiscoveryNode,
  type DiscoveryPodOptions,
  discoveryPod,
  discoveryPodName,
  discoverySelector,
  isMadeAs,
  type LivePod,
  livePod,
} from "./discovery-pod.ts";
import { createRemakeBackOff, createRollout } from "./pod-replacement.ts";

/** Hardware changes with a reboot or a screwdriver, but a card can fall off the bus at any moment. */
const discoveryPeriodMs = minute;
/** The first picture waits so long for the discovery pods that are there: a thousand answer in a few seconds. */
const discoveryFirstMs = 10 * second;
/** An answer of a discovery pod: as many parts with as long names as may be; the usual one is a few kilobytes. */
export const discoveryAnswerBytes = 4 * 1024 * 1024;

/** What becomes of a node's pod: one is wanted, it may stay as it is, or it has to go. */
export type DesiredPod = { readonly wanted: DiscoveryNode } | "kept" | "unwanted";

export interface DiscoveryOptions extends Omit<DiscoveryPodOptions, "image" | "pullSecrets"> {
  /** Undefined while it is not known yet: then no pod is made. */
  readonly image: () => string | undefined;
  readonly pullSecrets?: () => readonly string[];
}

interface DiscoveryPodsDeps extends OperatorGround {
  readonly desiredFor: (node: string) => DesiredPod;
  /** There is an answer of this node, or something new to say about its absence. */
  readonly onChange: (node: string) => void;
  readonly onSettled: () => void;
}

interface Discovered {
  /** The last good answer. */
  readonly hardware?: Hardware;
  readonly atMs?: number;
  /** Why there is none, or none that is fresh. */
  readonly condition?: Condition;
}

export type DiscoveryPods = ReturnType<typeof createDiscoveryPods>;

interface Known extends Discovered {
  /** Why the pod before this one has ended; until there is an answer, that is the best hint. */
  readonly ended?: string;
}

export function createDiscoveryPods(options: DiscoveryOptions, deps: DiscoveryPodsDeps) {
  const { kube, clock, log, onChange } = deps;
  const known = new Map<string, Known>();
  const backOff = createRemakeBackOff(deps);
  const rollout = createRollout(clock, (node) => void queue.add(node));
  let pods: WatchCache<LivePod> | undefined;
  /** The nodes whose pods were ready when we came, and were not asked yet. */
  const unheard = new Set<string>();
  let settled = false;
  /** Of our service: it ends every call. */
  let signal: AbortSignal | undefined;
  const queue = createQueue({ name: "discovery", work, ...deps });

  function tell(node: string, message: string, change: Known = {}): void {
    const before = known.get(node);
    if (before?.condition?.message === message) return;
    known.set(node, { ...before, ...change, condition: condition("DiscoveryMissing", message) });
    onChange(node);
  }

  function missing(node: string, why: string): void {
    const { ended } = known.get(node) ?? {};
    tell(node, ended === undefined ? why : `${why}; the one before it ended: ${ended}`);
  }

  async function remove({ name, uid }: LivePod): Promise<void> {
    await kube.delete(kinds.pod, { namespace: options.namespace, name }, { uid, signal });
  }

  async function make(pod: KubeObject, node: string): Promise<Outcome> {
    const waitMs = backOff.waitMs(node);
    if (waitMs > 0) {
      missing(node, "its discovery pod is gone, and the next one waits for a while");
      return recheck(waitMs);
    }
    try {
      await kube.create(kinds.pod, pod, { signal });
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_KUBE_EXISTS")) {
        const error = ProviderError.from(thrown);
        missing(node, `its discovery pod cannot be made: ${error.message}`);
        throw error;
      }
      // Usually ours, made a moment ago; one that stays unseen is somebody else's, and the condition stays with it.
      missing(node, `a pod ${pod.metadata.name} is there, but not seen as its discovery pod`);
      return waiting("pod", "it is there, but not seen yet");
    }
    backOff.made(node);
    log.info("created a discovery pod", { node });
    missing(node, "its discovery pod was just made");
    return waiting("pod", "it was just made");
  }

  async function work(node: string): Promise<Outcome> {
    const desired = deps.desiredFor(node);
    const live = pods?.get({ namespace: options.namespace, name: discoveryPodName(node) });
    if (desired === "kept") return done();
    if (desired === "unwanted") {
      rollout.end(node);
      heard(node);
      known.delete(node);
      backOff.forget(node);
      if (live && !live.deleting) await remove(live);
      return done();
    }
    const image = options.image();
    if (image === undefined) {
      if (live?.ready) await askOld(node, live);
      else missing(node, "the image of its discovery pod is not known yet");
      return recheck(ownPodRetryMs);
    }
    const recipe = { ...options, image, pullSecrets: options.pullSecrets?.() ?? [] };
    if (!live) return make(discoveryPod(desired.wanted, recipe), node);
    if (live.deleting) return waiting("pod", "the one before it is going");
    if (live.finished) return replaceFinished(node, live);
    if (!isMadeAs(live, node, recipe)) return replaceOld(node, live);
    if (!live.ready) {
      missing(node, `its discovery pod ${live.name} is not ready: ${live.reason}`);
      return waiting("pod", live.reason);
    }
    const outcome = await ask(node, live);
    rollout.end(node);
    return outcome;
  }

  async function replaceOld(node: string, live: LivePod): Promise<Outcome> {
    if (live.ready) await askOld(node, live);
    if (!rollout.begin(node)) return recheck(discoveryPeriodMs);
    return replace(node, live, "it is made otherwise");
  }

  /** It is asked for as long as it is there: until its successor answers, nobody else knows what the node has. */
  async function askOld(node: string, live: LivePod): Promise<void> {
    const { atMs = Number.NEGATIVE_INFINITY } = known.get(node) ?? {};
    if (clock.now() - atMs < discoveryPeriodMs) return;
    await ask(node, live).catch((thrown) => {
      log.debug("no answer from a discovery pod of another version", { node, reason: reasonOf(thrown) });
    });
  }

  /** It stays until its successor may be made, so that a person can look at it meanwhile. */
  async function replaceFinished(node: string, live: LivePod): Promise<Outcome> {
    tell(node, `its discovery pod ${live.name} has ended: ${live.reason}`, { ended: live.reason });
    const waitMs = backOff.waitMs(node);
    return waitMs > 0 ? recheck(waitMs) : replace(node, live, live.reason);
  }

  async function replace(node: string, live: LivePod, reason: string): Promise<Outcome> {
    log.info("replacing a discovery pod", { node, reason });
    await remove(live);
    return waiting("pod", "it is being replaced");
  }

  async function ask(node: string, { name }: LivePod): Promise<Outcome> {
    const target = { kind: "pod", namespace: options.namespace, name, port: options.port } as const;
    try {
      const { status, body } = await kube.proxy(target, {
        path: "/hardware",
        mostBytes: discoveryAnswerBytes,
        signal,
      });
      if (status !== 200) throw new ProviderError("AKP_DISCOVERY_MALFORMED", { node, reason: `status ${status}` });
      const hardware = readHardwareAnswer(body.toString(), node);
      known.set(node, { hardware, atMs: clock.now() });
      onChange(node);
      return recheck(discoveryPeriodMs);
    } catch (thrown) {
      const error = ProviderError.from(thrown);
      missing(node, `its discovery pod does not answer: ${error.message}`);
      throw error;
    } finally {
      heard(node);
    }
  }

  function heard(node: string): void {
    if (unheard.delete(node) && unheard.size === 0) settle();
  }

  function settle(): void {
    if (settled) return;
    settled = true;
    deps.onSettled();
  }

  return {
    start(scope: Scope): void {
      signal = scope.signal;
      const cache = kube.watch({
        kind: kinds.pod,
        namespace: options.namespace,
        labelSelector: discoverySelector,
        project: livePod,
        handle: ({ value }) => void queue.add(value.node),
      });
      pods = cache;
      scope.onStop(() => cache.close());
      const patience = clock.timer(discoveryFirstMs, settle);
      scope.onStop(() => patience.cancel());
      scope.task("discovery", async (stop) => {
        // Before the pods are known, each would look as if it were missing.
        await cache.synced(stop).catch((thrown) => {
          if (!stop.aborted) throw thrown;
        });
        for (const { node, ready, deleting } of cache.list()) if (ready && !deleting) unheard.add(node);
        if (unheard.size === 0) settle();
        await queue.run(stop);
      });
    },
    /** Something about this node may have changed. */
    add: (node: string) => void queue.add(node),
    about: (node: string): Discovered => known.get(node) ?? {},
    /** Whether every pod that was ready when we came was asked, or had its time to answer. */
    get settled() {
      return settled;
    },
    queue,
  };
}
