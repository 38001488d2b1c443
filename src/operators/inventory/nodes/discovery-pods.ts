/**
 * Keeps a discovery pod on each node, queries it, and keeps the last good answer. Pods that end are replaced after a
 * pause, those of another version a few at a time.
 */
import { kinds } from "../../../kube/kinds.ts";
import type { KubeObject, WatchCache } from "../../../kube/kube.ts";
import { growingPauseMs } from "../../../runtime/back-off.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import type { Scope } from "../../../runtime/lifecycle.ts";
import { ownPodRetryMs } from "../../../runtime/limits.ts";
import { done, type Outcome, recheck, waiting } from "../../../runtime/outcome.ts";
import { createQueue, type Queue } from "../../../runtime/queue.ts";
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

/** A GPU can fail at any moment; all else changes with a reboot. */
const discoveryPeriodMs = minute;
/** The first snapshot waits this long for existing discovery pods: a thousand answer in a few seconds. */
const discoveryFirstMs = 10 * second;
/** The usual answer is a few kilobytes. */
export const discoveryAnswerBytes = 4 * 1024 * 1024;
/** Pause between two discovery pods of a node: one that was evicted or deleted may be back soon; a full node stays full. */
const discoveryRemakeFirstMs = 10 * second;
const discoveryRemakeMostMs = 5 * minute;
/** A pod that lasted this long was healthy; longer than any pause, or a rejected one would count too. */
const discoveryLastedMs = 10 * minute;
/** Pods of another version that are replaced at once: a thousand take minutes, and a broken version stops here. */
export const discoveryReplacedAtOnce = 5;
/** A successor that has not answered by then no longer holds up the others. */
export const discoveryReplaceMs = 5 * minute;

export type DesiredPod = { readonly wanted: DiscoveryNode } | "kept" | "unwanted";

export interface DiscoveryOptions extends Omit<DiscoveryPodOptions, "image" | "pullSecrets"> {
  /** Undefined while it is not known yet; then no pod is created. */
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
  /** Why the previous pod ended: until there is an answer, the best hint. */
  readonly ended?: string;
}

export class DiscoveryPods {
  readonly queue: Queue;
  /** Whether every pod that was ready at the start was queried, or had its time to answer. */
  settled = false;
  readonly #options: DiscoveryOptions;
  readonly #deps: DiscoveryPodsDeps;
  readonly #known = new Map<string, Discovered>();
  /** By node, on the monotonic clock: when its pod was created, and until when it is being replaced by another version. */
  readonly #created = new Map<string, { readonly atMs: number; readonly times: number }>();
  readonly #replacingUntilMs = new Map<string, number>();
  #pods: WatchCache<LivePod> | undefined;
  /** Nodes whose pods were ready at the start and were not queried yet. */
  readonly #unqueried = new Set<string>();
  #signal: AbortSignal | undefined;

  constructor(options: DiscoveryOptions, deps: DiscoveryPodsDeps) {
    this.#options = options;
    this.#deps = deps;
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
      await cache.synced(stop).catch((thrown) => {
        if (!stop.aborted) throw thrown;
      });
      for (const { node, ready, deleting } of cache.list()) if (ready && !deleting) this.#unqueried.add(node);
      if (this.#unqueried.size === 0) this.#settle();
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
      if (live?.ready) await this.#queryOld(node, live);
      else this.#missing(node, "the image of its discovery pod is not known yet");
      return recheck(ownPodRetryMs);
    }
    const recipe = { ...this.#options, image, pullSecrets: pullSecrets?.() ?? [] };
    if (!live) return this.#create(discoveryPod(desired.wanted, recipe), node);
    if (live.deleting) return waiting("pod", "the previous one is being deleted");
    if (live.finished) return this.#replaceFinished(node, live);
    if (!isMadeAs(live, node, recipe)) return this.#replaceOld(node, live);
    if (!live.ready) {
      this.#missing(node, `its discovery pod ${live.name} is not ready: ${live.reason}`);
      return waiting("pod", live.reason);
    }
    const outcome = await this.#query(node, live);
    this.#replacingUntilMs.delete(node);
    return outcome;
  }

  async #forget(node: string, live: LivePod | undefined): Promise<Outcome> {
    for (const map of [this.#replacingUntilMs, this.#known, this.#created]) map.delete(node);
    this.#queried(node);
    if (live && !live.deleting) await this.#remove(live);
    return done();
  }

  async #create(pod: KubeObject, node: string): Promise<Outcome> {
    const waitMs = this.#pauseMs(node);
    if (waitMs > 0) {
      this.#missing(node, "its discovery pod is gone, and the next one waits for a while");
      return recheck(waitMs);
    }
    try {
      await this.#deps.kube.create(kinds.pod, pod, { signal: this.#signal });
    } catch (thrown) {
      if (!ProviderError.is(thrown, "AKP_KUBE_EXISTS")) {
        const error = ProviderError.from(thrown);
        this.#missing(node, `its discovery pod cannot be created: ${error.message}`);
        throw error;
      }
      // Usually ours, created a moment ago; else of another program.
      this.#missing(node, `a pod ${pod.metadata.name} exists, but not with the labels of a discovery pod`);
      return waiting("pod", "it exists, but is not in the cache");
    }
    this.#created.set(node, { atMs: this.#deps.clock.monotonicMs(), times: this.#timesCreated(node) + 1 });
    this.#deps.log.info("created a discovery pod", { node });
    this.#missing(node, "its discovery pod was just created");
    return waiting("pod", "it was just created");
  }

  #pauseMs(node: string): number {
    const { atMs } = this.#created.get(node) ?? { atMs: Number.NEGATIVE_INFINITY };
    const pauseMs = growingPauseMs(discoveryRemakeFirstMs, discoveryRemakeMostMs, this.#timesCreated(node));
    return Math.max(0, atMs + pauseMs - this.#deps.clock.monotonicMs());
  }

  #timesCreated(node: string): number {
    const { atMs, times } = this.#created.get(node) ?? { atMs: Number.NEGATIVE_INFINITY, times: 0 };
    return this.#deps.clock.monotonicMs() - atMs < discoveryLastedMs ? times : 0;
  }

  async #replaceOld(node: string, live: LivePod): Promise<Outcome> {
    if (live.ready) await this.#queryOld(node, live);
    const nowMs = this.#deps.clock.monotonicMs();
    const replacing = this.#replacingUntilMs;
    for (const [other, untilMs] of replacing) if (untilMs <= nowMs) replacing.delete(other);
    if (!replacing.has(node) && replacing.size >= discoveryReplacedAtOnce) return recheck(ownPodRetryMs);
    replacing.set(node, nowMs + discoveryReplaceMs);
    return this.#replace(node, live, "its spec has changed");
  }

  /** Only the old pod can answer until its successor runs. */
  async #queryOld(node: string, live: LivePod): Promise<void> {
    const { clock, log } = this.#deps;
    const { atMs = Number.NEGATIVE_INFINITY } = this.about(node);
    if (clock.now() - atMs < discoveryPeriodMs) return;
    await this.#query(node, live).catch((thrown) => {
      log.debug("no answer from a discovery pod of another version", { node, reason: reasonOf(thrown) });
    });
  }

  /** It stays until its successor may be created, so that it can be inspected. */
  async #replaceFinished(node: string, live: LivePod): Promise<Outcome> {
    this.#report(node, `its discovery pod ${live.name} has ended: ${live.reason}`, { ended: live.reason });
    const waitMs = this.#pauseMs(node);
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

  async #query(node: string, { name }: LivePod): Promise<Outcome> {
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
      this.#queried(node);
    }
  }

  #missing(node: string, why: string): void {
    const { ended } = this.#known.get(node) ?? {};
    this.#report(node, ended === undefined ? why : `${why}; the one before it ended: ${ended}`);
  }

  #report(node: string, message: string, change: Discovered = {}): void {
    const before = this.#known.get(node);
    if (before?.condition?.message === message) return;
    this.#known.set(node, { ...before, ...change, condition: condition("DiscoveryMissing", message) });
    this.#deps.onChange(node);
  }

  #queried(node: string): void {
    if (this.#unqueried.delete(node) && this.#unqueried.size === 0) this.#settle();
  }

  #settle(): void {
    if (this.settled) return;
    this.settled = true;
    this.#deps.onSettled();
  }
}
