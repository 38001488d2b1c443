/**
 * Keeps a discovery pod on each node, queries it, and remembers the last good answer. Pods that end are replaced ever
 * more slowly; those of another version a few at a time.
 */
import { kinds } from "../../../kube/kinds.ts";
import type { KubeObject, WatchCache } from "../../../kube/kube.ts";
import { growingPauseMs } from "../../../runtime/back-off.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import type { Scope } from "../../../runtime/lifecycle.ts";
import { ownPodRetryMs } from "../../../runtime/limits.ts";
import { done, type Outcome, recheck, waiting } from "../../../runtime/outcome.ts";
import { createQueue, type Queue } from "../../../runtime/queue.ts";
import { jitter, type Random } from "../../../runtime/random.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import { type Hardware, readHardwareAnswer } from "../hardware.ts";
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

/** Hardware changes with a reboot or a screwdriver, but a card can fall off the bus at any moment. */
const discoveryPeriodMs = minute;
/** The first picture waits so long for the discovery pods that are there: a thousand answer in a few seconds. */
const discoveryFirstMs = 10 * second;
/** An answer of a discovery pod: as many parts with as long names as may be; the usual one is a few kilobytes. */
export const discoveryAnswerBytes = 4 * 1024 * 1024;
/** First pause between two discovery pods of a node: one that was evicted or ended by hand may be back soon. */
const discoveryRemakeFirstMs = 10 * second;
/** Longest one: what is known of a full node stays, so there is no hurry, and a dozen pods an hour are no burden. */
const discoveryRemakeMostMs = 5 * minute;
/** A pod that lasted so long was well; longer than any pause, or one that is turned away would count as well. */
const discoveryLastedMs = 10 * minute;
/** Nodes whose discovery pod is replaced by another version's at once: a thousand take minutes, and a bad one stops here. */
export const discoveryReplacedAtOnce = 5;
/** A successor that has not answered by then no longer holds up the others: some nodes never let one run. */
export const discoveryReplaceMs = 5 * minute;

export type DesiredPod = { readonly wanted: DiscoveryNode } | "kept" | "unwanted";

export interface DiscoveryOptions extends Omit<DiscoveryPodOptions, "image" | "pullSecrets"> {
  /** Undefined while it is not known yet: then no pod is made. */
  readonly image: () => string | undefined;
  readonly pullSecrets?: () => readonly string[];
}

interface DiscoveryPodsDeps extends OperatorDeps {
  readonly desiredFor: (node: string) => DesiredPod;
  readonly onChange: (node: string) => void;
  readonly onSettled: () => void;
}

interface Discovered {
  readonly hardware?: Hardware;
  readonly atMs?: number;
  readonly condition?: Condition;
}

interface Known extends Discovered {
  /** Why the previous pod ended; until there is an answer, the best hint. */
  readonly ended?: string;
}

export class DiscoveryPods {
  readonly queue: Queue;
  /** Whether every pod that was ready at the start was queried, or had its time to answer. */
  settled = false;
  readonly #options: DiscoveryOptions;
  readonly #deps: DiscoveryPodsDeps;
  readonly #known = new Map<string, Known>();
  readonly #backOff: ReturnType<typeof createRemakeBackOff>;
  readonly #rollout: ReturnType<typeof createRollout>;
  #pods: WatchCache<LivePod> | undefined;
  /** Nodes whose pods were ready at the start, and were not queried yet. */
  readonly #unheard = new Set<string>();
  /** Of our service: it ends every call. */
  #signal: AbortSignal | undefined;

  constructor(options: DiscoveryOptions, deps: DiscoveryPodsDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#backOff = createRemakeBackOff(deps);
    this.#rollout = createRollout(deps.clock, this.add);
    this.queue = createQueue({ name: "discovery", work: (node) => this.#work(node), ...deps });
  }

  start(scope: Scope): void {
    const { kube, clock } = this.#deps;
    this.#signal = scope.signal;
    const cache = kube.watch({
      kind: kinds.pod,
      namespace: this.#options.namespace,
      labelSelector: discoverySelector,
      project: livePod,
      handle: ({ value }) => this.add(value.node),
    });
    this.#pods = cache;
    scope.onStop(() => cache.close());
    const deadline = clock.timer(discoveryFirstMs, () => this.#settle());
    scope.onStop(() => deadline.cancel());
    scope.task("discovery", async (stop) => {
      // Before the pods are known, each would look as if it were missing.
      await cache.synced(stop).catch((thrown) => {
        if (!stop.aborted) throw thrown;
      });
      for (const { node, ready, deleting } of cache.list()) if (ready && !deleting) this.#unheard.add(node);
      if (this.#unheard.size === 0) this.#settle();
      await this.queue.run(stop);
    });
  }

  readonly add = (node: string): void => void this.queue.add(node);

  about(node: string): Discovered {
    return this.#known.get(node) ?? {};
  }

  async #work(node: string): Promise<Outcome> {
    const { namespace, image: imageOf, pullSecrets } = this.#options;
    const desired = this.#deps.desiredFor(node);
    const live = this.#pods?.get({ namespace, name: discoveryPodName(node) });
    if (desired === "kept") return done();
    if (desired === "unwanted") return this.#forget(node, live);
    const image = imageOf();
    if (image === undefined) {
      if (live?.ready) await this.#askOld(node, live);
      else this.#missing(node, "the image of its discovery pod is not known yet");
      return recheck(ownPodRetryMs);
    }
    const recipe = { ...this.#options, image, pullSecrets: pullSecrets?.() ?? [] };
    if (!live) return this.#make(discoveryPod(desired.wanted, recipe), node);
    if (live.deleting) return waiting("pod", "the one before it is going");
    if (live.finished) return this.#replaceFinished(node, live);
    if (!isMadeAs(live, node, recipe)) return this.#replaceOld(node, live);
    if (!live.ready) {
      this.#missing(node, `its discovery pod ${live.name} is not ready: ${live.reason}`);
      return waiting("pod", live.reason);
    }
    const outcome = await this.#ask(node, live);
    this.#rollout.end(node);
    return outcome;
  }

  async #forget(node: string, live: LivePod | undefined): Promise<Outcome> {
    this.#rollout.end(node);
    this.#heard(node);
    this.#known.delete(node);
    this.#backOff.forget(node);
    if (live && !live.deleting) await this.#remove(live);
    return done();
  }

  async #make(pod: KubeObject, node: string): Promise<Outcome> {
    const waitMs = this.#backOff.waitMs(node);
    if (waitMs > 0) {
      this.#missing(node, "its discovery pod is gone, and the next one waits for a while");
      return recheck(waitMs);
    }
    try {
      await this.#deps.kube.create(kinds.pod, pod, { signal: this.#signal });
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_KUBE_EXISTS")) {
        const error = ProviderError.from(thrown);
        this.#missing(node, `its discovery pod cannot be made: ${error.message}`);
        throw error;
      }
      // Usually ours, made a moment ago; one that stays unseen is another program's, and the condition stays.
      this.#missing(node, `a pod ${pod.metadata.name} is there, but not seen as its discovery pod`);
      return waiting("pod", "it is there, but not seen yet");
    }
    this.#backOff.made(node);
    this.#deps.log.info("created a discovery pod", { node });
    this.#missing(node, "its discovery pod was just made");
    return waiting("pod", "it was just made");
  }

  async #replaceOld(node: string, live: LivePod): Promise<Outcome> {
    if (live.ready) await this.#askOld(node, live);
    return this.#rollout.begin(node) ? this.#replace(node, live, "it is made otherwise") : recheck(discoveryPeriodMs);
  }

  /** Until its successor answers, only the old pod knows what the node has. */
  async #askOld(node: string, live: LivePod): Promise<void> {
    const { clock, log } = this.#deps;
    const { atMs = Number.NEGATIVE_INFINITY } = this.about(node);
    if (clock.now() - atMs < discoveryPeriodMs) return;
    await this.#ask(node, live).catch((thrown) => {
      log.debug("no answer from a discovery pod of another version", { node, reason: reasonOf(thrown) });
    });
  }

  /** It stays until its successor may be made, so that a person can look at it meanwhile. */
  async #replaceFinished(node: string, live: LivePod): Promise<Outcome> {
    this.#report(node, `its discovery pod ${live.name} has ended: ${live.reason}`, { ended: live.reason });
    const waitMs = this.#backOff.waitMs(node);
    return waitMs > 0 ? recheck(waitMs) : this.#replace(node, live, live.reason);
  }

  async #replace(node: string, live: LivePod, reason: string): Promise<Outcome> {
    this.#deps.log.info("replacing a discovery pod", { node, reason });
    await this.#remove(live);
    return waiting("pod", "it is being replaced");
  }

  async #remove({ name, uid }: LivePod): Promise<void> {
    const { namespace } = this.#options;
    await this.#deps.kube.delete(kinds.pod, { namespace, name }, { uid, signal: this.#signal });
  }

  async #ask(node: string, { name }: LivePod): Promise<Outcome> {
    const { kube, clock, onChange } = this.#deps;
    const { namespace, port } = this.#options;
    const target = { kind: "pod", namespace, name, port } as const;
    const request = { path: "/hardware", mostBytes: discoveryAnswerBytes, signal: this.#signal };
    try {
      const { status, body } = await kube.proxy(target, request);
      if (status !== 200) throw new ProviderError("AKP_DISCOVERY_MALFORMED", { node, reason: `status ${status}` });
      const hardware = readHardwareAnswer(body.toString(), node);
      this.#known.set(node, { hardware, atMs: clock.now() });
      onChange(node);
      return recheck(discoveryPeriodMs);
    } catch (thrown) {
      const error = ProviderError.from(thrown);
      this.#missing(node, `its discovery pod does not answer: ${error.message}`);
      throw error;
    } finally {
      this.#heard(node);
    }
  }

  #missing(node: string, why: string): void {
    const { ended } = this.#known.get(node) ?? {};
    this.#report(node, ended === undefined ? why : `${why}; the one before it ended: ${ended}`);
  }

  #report(node: string, message: string, change: Known = {}): void {
    const before = this.#known.get(node);
    if (before?.condition?.message === message) return;
    this.#known.set(node, { ...before, ...change, condition: condition("DiscoveryMissing", message) });
    this.#deps.onChange(node);
  }

  #heard(node: string): void {
    if (this.#unheard.delete(node) && this.#unheard.size === 0) this.#settle();
  }

  #settle(): void {
    if (this.settled) return;
    this.settled = true;
    this.#deps.onSettled();
  }
}

interface Making {
  /** How many in a row that did not last, this one included. */
  readonly times: number;
  readonly atMs: number;
  readonly nextMs: number;
}

/** Back-off between a node's discovery pods, which grows with every one that did not last. */
function createRemakeBackOff({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
  const makings = new Map<string, Making>();
  return {
    waitMs: (node: string) => Math.max(0, (makings.get(node)?.nextMs ?? 0) - clock.monotonicMs()),
    made(node: string): void {
      const atMs = clock.monotonicMs();
      const before = makings.get(node);
      const times = before && atMs - before.atMs < discoveryLastedMs ? before.times + 1 : 1;
      const pauseMs = growingPauseMs(discoveryRemakeFirstMs, discoveryRemakeMostMs, times);
      makings.set(node, { times, atMs, nextMs: atMs + jitter(random, pauseMs) });
    },
    forget: (node: string) => void makings.delete(node),
  };
}

/** Replaces pods of another version a few at a time: if the new one cannot run, most nodes keep one that answers. */
function createRollout(clock: Clock, wake: (node: string) => void) {
  const underWay = new Map<string, number>();
  const waiting = new Set<string>();

  return {
    /** Whether this node's pod may be replaced now; if not, the node is woken when it may. */
    begin(node: string): boolean {
      const nowMs = clock.monotonicMs();
      for (const [other, untilMs] of underWay) if (untilMs <= nowMs) underWay.delete(other);
      if (!underWay.has(node) && underWay.size >= discoveryReplacedAtOnce) {
        waiting.add(node);
        return false;
      }
      waiting.delete(node);
      underWay.set(node, nowMs + discoveryReplaceMs);
      return true;
    },
    end(node: string): void {
      waiting.delete(node);
      if (!underWay.delete(node)) return;
      const [next] = waiting;
      if (next !== undefined) wake(next);
    },
  };
}
