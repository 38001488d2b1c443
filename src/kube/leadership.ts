/** Leader election by a Lease. A leader's liveness is judged by our own clock, from the last observed change of the Lease. */
import type { RuntimeDeps } from "../runtime/deps.ts";
import { second } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import { createWakeSignal } from "../runtime/wake-signal.ts";
import { fieldsOf, microTime, textOf } from "./json-fields.ts";
import { apiVersionOf, kinds } from "./kinds.ts";
import type { Kube, KubeObject } from "./kube.ts";

/** Lease duration, as in other controllers of Kubernetes. */
export const leaderDurationMs = 15 * second;
/** Interval of renewals; one in three may be lost. */
export const leaderRenewMs = 5 * second;
/** A leader that could not renew for so long stops, before another instance may begin. */
export const leaderGiveUpMs = 10 * second;
/** Interval at which a waiting instance tries to lead. */
export const leaderRetryMs = 2 * second;

export interface LeadershipOptions {
  readonly namespace: string;
  readonly name: string;
  /** Unique to this process, also among processes of the same pod. */
  readonly identity: string;
}

interface LeadershipDeps extends Omit<RuntimeDeps, "random"> {
  readonly kube: Pick<Kube, "get" | "create" | "replace">;
}

/** Another instance wrote first: its own Lease, beside ours, or in place of ours. */
const lostRaces = ["AKP_KUBE_EXISTS", "AKP_KUBE_CONFLICT", "AKP_KUBE_OTHER_UID"] as const;

export class Leadership {
  readonly #identity: string;
  readonly #at: Omit<LeadershipOptions, "identity">;
  readonly #deps: LeadershipDeps;
  readonly #pause: ReturnType<typeof createWakeSignal>;
  #seen: { readonly version: string | undefined; readonly atMs: number } | undefined;
  /** The Lease as we wrote it last. A renewal replaces it, so a write of another instance makes that a conflict. */
  #own: KubeObject | undefined;
  /** When the last successful renewal was sent: no other instance can have seen it earlier. */
  #renewedMs = 0;
  #holder: string | undefined;
  #isLeading = false;
  #error: ProviderError | undefined;

  constructor({ identity, ...at }: LeadershipOptions, deps: LeadershipDeps) {
    this.#identity = identity;
    this.#at = at;
    this.#deps = deps;
    this.#pause = createWakeSignal(deps.clock);
  }

  /** After a process was suspended, other timers may fire before that of the lost lease. */
  get leading(): boolean {
    return this.#isLeading && this.#nowMs() - this.#renewedMs < leaderGiveUpMs;
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }

  /** Why this instance waits; undefined while it leads. */
  get waitingFor(): string | undefined {
    if (this.leading) return undefined;
    if (this.#isLeading) return "the Lease was not renewed in time";
    if (this.#error) return this.#error.message;
    if (this.#seen && this.#seen.version === undefined)
      return "the Lease is missing, and a leader may not have seen that yet";
    return `${this.#holder ?? "no copy"} leads`;
  }

  /** Calls `lead` whenever it leads, until the signal is aborted or `lead` rejects. */
  readonly run = async (signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    while (!signal.aborted) {
      if (await this.#tryClaim(signal)) await this.#leadOnce(signal, lead);
      else await this.#pause.wait(leaderRetryMs, signal);
    }
  };

  /** One try; true when we have just written the Lease with our identity. */
  async #claim(signal: AbortSignal): Promise<boolean> {
    const options = { signal, deadlineMs: leaderRenewMs };
    // Without a get first: a slow API server leaves no time for two requests.
    if (this.#own && (await this.#written(this.#deps.kube.replace(kinds.lease, this.#desired(this.#own), options))))
      return true;
    const live = await this.#deps.kube.get(kinds.lease, this.#at, options);
    if (!live) {
      if (!this.#isLeading && !this.#isSilentSinceMissing()) return false;
      return this.#written(this.#deps.kube.create(kinds.lease, this.#desired(undefined), options));
    }
    const { resourceVersion: version } = live.metadata;
    if (this.#seen?.version !== version) this.#seen = { version, atMs: this.#nowMs() };
    this.#holder = textOf(fieldsOf(live["spec"])["holderIdentity"]) || undefined;
    if (this.#holder !== undefined && this.#holder !== this.#identity && !this.#isSilent()) return false;
    return this.#written(this.#deps.kube.replace(kinds.lease, this.#desired(live), options));
  }

  /** A leader that has not noticed the deletion recreates the Lease or stops within its duration. */
  #isSilentSinceMissing(): boolean {
    if (!this.#seen || this.#seen.version !== undefined) {
      this.#seen = { version: undefined, atMs: this.#nowMs() };
      this.#deps.log.info("waiting to lead, since the Lease is missing", {
        lease: this.#at.name,
        ms: leaderDurationMs,
      });
    }
    return this.#isSilent();
  }

  #isSilent(): boolean {
    return this.#seen !== undefined && this.#nowMs() - this.#seen.atMs > leaderDurationMs;
  }

  async #written(writing: Promise<KubeObject>): Promise<boolean> {
    const sentMs = this.#nowMs();
    try {
      this.#own = await writing;
      this.#seen = { version: this.#own.metadata.resourceVersion, atMs: this.#nowMs() };
      this.#renewedMs = sentMs;
      this.#holder = this.#identity;
      return true;
    } catch (thrown) {
      // Not found although we never wrote it: the namespace is missing.
      const wasDeleted = this.#own !== undefined && ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND");
      if (!wasDeleted && !lostRaces.some((code) => ProviderError.is(thrown, code))) throw thrown;
      this.#own = undefined;
      return false;
    }
  }

  #desired(live: KubeObject | undefined, holderIdentity: string = this.#identity): KubeObject {
    const before = fieldsOf(live?.["spec"]);
    const isOurs = textOf(before["holderIdentity"]) === holderIdentity;
    const now = microTime(this.#deps.clock.now());
    return {
      apiVersion: apiVersionOf(kinds.lease),
      kind: kinds.lease.kind,
      metadata: live?.metadata ?? this.#at,
      spec: {
        holderIdentity,
        leaseDurationSeconds: leaderDurationMs / 1_000,
        renewTime: now,
        acquireTime: (isOurs && textOf(before["acquireTime"])) || now,
        leaseTransitions: Number(before["leaseTransitions"] ?? 0) + (isOurs || !live ? 0 : 1),
      },
    };
  }

  /** An error is logged once, and counts as not leading. */
  async #tryClaim(signal: AbortSignal): Promise<boolean> {
    try {
      const isOurs = await this.#claim(signal);
      this.#error = undefined;
      return isOurs;
    } catch (thrown) {
      if (signal.aborted) return false;
      const error = ProviderError.from(thrown);
      if (error.message !== this.#error?.message)
        this.#deps.log.warn("failed to acquire leader lease", { lease: this.#at.name, error });
      this.#error = error;
      return false;
    }
  }

  /** So that the next leader need not wait for the Lease to expire. */
  async #release(): Promise<void> {
    this.#own = undefined;
    try {
      const deadlineMs = leaderRetryMs;
      const live = await this.#deps.kube.get(kinds.lease, this.#at, { deadlineMs });
      if (live && textOf(fieldsOf(live["spec"])["holderIdentity"]) === this.#identity)
        await this.#deps.kube.replace(kinds.lease, this.#desired(live, ""), { deadlineMs });
    } catch (thrown) {
      this.#deps.log.info("failed to release the lead", { lease: this.#at.name, error: ProviderError.from(thrown) });
    }
  }

  /** Renews until another instance leads, or renewals have failed for too long. */
  async #renew(over: AbortController, signal: AbortSignal): Promise<void> {
    const left = (ms: number, sinceMs: number) => Math.max(0, sinceMs + ms - this.#nowMs());
    const setAlarm = () => this.#deps.clock.timer(left(leaderGiveUpMs, this.#renewedMs), () => over.abort());
    let alarm = setAlarm();
    // The interval is from start to start.
    let beganMs = this.#renewedMs;
    for (;;) {
      await this.#pause.wait(left(this.#error ? leaderRetryMs : leaderRenewMs, beganMs), signal);
      if (signal.aborted) break;
      beganMs = this.#nowMs();
      if (await this.#tryClaim(signal)) {
        alarm.cancel();
        alarm = setAlarm();
      } else if (this.#holder !== this.#identity) over.abort();
    }
    alarm.cancel();
  }

  async #leadOnce(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    this.#isLeading = true;
    this.#deps.log.info("started leading", { lease: this.#at.name, identity: this.#identity });
    const renewing = this.#renew(over, until);
    try {
      await lead(until);
    } finally {
      this.#isLeading = false;
      over.abort();
      await renewing;
      this.#deps.log.info("stopped leading", {
        lease: this.#at.name,
        identity: this.#identity,
        ...(this.#holder !== this.#identity && { holder: this.#holder }),
      });
      if (this.#holder === this.#identity) await this.#release();
    }
  }
}
