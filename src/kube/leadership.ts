/** Leader election by a Lease. Liveness is judged by our own clock, from when the Lease was last seen to change; clocks may differ. */
import { type Clock, formatTime } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import type { Log } from "../runtime/log.ts";
import { createWakeSignal } from "../runtime/wake-signal.ts";
import { fieldsOf, textOf } from "./json-fields.ts";
import { apiVersionOf, kinds } from "./kinds.ts";
import type { Kube, KubeObject, ObjectAt } from "./kube.ts";

/** Who leads is believed to live for so long after its last word, as other controllers of Kubernetes have it. */
export const leaderDurationMs = 15 * second;
/** Who leads says so this often; one word in three may be lost. */
export const leaderRenewMs = 5 * second;
/** Who could not say so for this long stops: well before another may begin, with time to end what is under way. */
export const leaderGiveUpMs = 10 * second;
/** Who waits looks this often whether nobody leads any more. */
export const leaderRetryMs = 2 * second;

export interface LeadershipOptions extends ObjectAt {
  readonly namespace: string;
  /** Of this copy: no other has it, not even one of the same pod before. */
  readonly identity: string;
}

interface LeadershipDeps {
  readonly kube: Pick<Kube, "get" | "create" | "replace">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Another copy wrote first: its own Lease, beside ours, or one in place of ours. */
const slower = ["AKP_KUBE_EXISTS", "AKP_KUBE_CONFLICT", "AKP_KUBE_OTHER_UID"] as const;

export class Leadership {
  readonly #identity: string;
  readonly #at: Omit<LeadershipOptions, "identity">;
  readonly #kube: LeadershipDeps["kube"];
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #pause: ReturnType<typeof createWakeSignal>;
  #seen: { readonly version: string | undefined; readonly atMs: number } | undefined;
  /** The Lease as we wrote it last. Who leads goes on from it: another that wrote since makes that a conflict. */
  #own: KubeObject | undefined;
  /** When the last word that was taken was sent: nobody can have seen it before, so nobody counts from an earlier time. */
  #saidMs = 0;
  #holder: string | undefined;
  #leading = false;
  #trouble: ProviderError | undefined;

  constructor({ identity, ...at }: LeadershipOptions, { kube, clock, log }: LeadershipDeps) {
    this.#identity = identity;
    this.#at = at;
    this.#kube = kube;
    this.#clock = clock;
    this.#log = log;
    this.#pause = createWakeSignal(clock);
  }

  /** In a process that was stopped for a while, other timers may fire before the alarm does. */
  get leading(): boolean {
    return this.#leading && this.#clock.monotonicMs() - this.#saidMs < leaderGiveUpMs;
  }

  /** Why this copy does nothing, in words; undefined while it leads. */
  get waitingFor(): string | undefined {
    if (this.leading) return undefined;
    if (this.#leading) return "the Lease was not renewed in time";
    if (this.#trouble) return this.#trouble.message;
    if (this.#seen && this.#seen.version === undefined)
      return "the Lease is missing, and a leader may not have seen that yet";
    return `${this.#holder ?? "no copy"} leads`;
  }

  /** Leads whenever it can, until the signal is aborted. `lead` is called anew each time; what it rejects with ends this too. */
  readonly run = async (signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    while (!signal.aborted) {
      if (await this.#tried(signal)) await this.#leadOnce(signal, lead);
      else await this.#pause.wait(leaderRetryMs, signal);
    }
  };

  /** One try; true where the name in the Lease is ours now, by a write of this moment. */
  async #claim(signal: AbortSignal): Promise<boolean> {
    const options = { signal, deadlineMs: leaderRenewMs };
    // One request rather than two: a slow API server leaves no time for both.
    if (this.#own && (await this.#written(this.#kube.replace(kinds.lease, this.#desired(this.#own), options))))
      return true;
    const live = await this.#kube.get(kinds.lease, this.#at, options);
    if (!live) {
      if (!this.#leading && !this.#isSilentSinceMissing()) return false;
      return this.#written(this.#kube.create(kinds.lease, this.#desired(undefined), options));
    }
    const { resourceVersion: version } = live.metadata;
    if (this.#seen?.version !== version) this.#seen = { version, atMs: this.#clock.monotonicMs() };
    this.#holder = textOf(fieldsOf(live["spec"])["holderIdentity"]) || undefined;
    if (this.#holder !== undefined && this.#holder !== this.#identity && !this.#isSilent()) return false;
    return this.#written(this.#kube.replace(kinds.lease, this.#desired(live), options));
  }

  /** Where it was deleted, a leader that does not know that yet makes it again or stops within its time. */
  #isSilentSinceMissing(): boolean {
    if (!this.#seen || this.#seen.version !== undefined) {
      this.#seen = { version: undefined, atMs: this.#clock.monotonicMs() };
      this.#log.info("waiting to lead, since the Lease is missing", { lease: this.#at.name, ms: leaderDurationMs });
    }
    return this.#isSilent();
  }

  #isSilent(): boolean {
    return this.#seen !== undefined && this.#clock.monotonicMs() - this.#seen.atMs > leaderDurationMs;
  }

  async #written(writing: Promise<KubeObject>): Promise<boolean> {
    const sentMs = this.#clock.monotonicMs();
    try {
      this.#own = await writing;
      this.#seen = { version: this.#own.metadata.resourceVersion, atMs: this.#clock.monotonicMs() };
      this.#saidMs = sentMs;
      this.#holder = this.#identity;
      return true;
    } catch (thrown) {
      // Another was quicker, or ours was deleted. Where nothing was ours, its namespace is missing: that is trouble.
      const wasDeleted = this.#own !== undefined && ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND");
      if (!wasDeleted && !slower.some((code) => ProviderError.is(thrown, code))) throw thrown;
      this.#own = undefined;
      return false;
    }
  }

  #desired(live: KubeObject | undefined, holderIdentity: string = this.#identity): KubeObject {
    const before = fieldsOf(live?.["spec"]);
    const isOurs = textOf(before["holderIdentity"]) === holderIdentity;
    const now = microTime(this.#clock.now());
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

  /** The same, with what goes wrong told once, and counted as a no. */
  async #tried(signal: AbortSignal): Promise<boolean> {
    try {
      const isOurs = await this.#claim(signal);
      this.#trouble = undefined;
      return isOurs;
    } catch (thrown) {
      if (signal.aborted) return false;
      const error = ProviderError.from(thrown);
      if (error.message !== this.#trouble?.message)
        this.#log.warn("failed to acquire leader lease", { lease: this.#at.name, error });
      this.#trouble = error;
      return false;
    }
  }

  /** So that the next one need not wait until we are believed to be dead. */
  async #release(): Promise<void> {
    this.#own = undefined;
    try {
      const deadlineMs = leaderRetryMs;
      const live = await this.#kube.get(kinds.lease, this.#at, { deadlineMs });
      if (live && textOf(fieldsOf(live["spec"])["holderIdentity"]) === this.#identity)
        await this.#kube.replace(kinds.lease, this.#desired(live, ""), { deadlineMs });
    } catch (thrown) {
      this.#log.info("failed to release the lead", { lease: this.#at.name, error: ProviderError.from(thrown) });
    }
  }

  /** Says that it lives until it is over: another has the lead, or nobody took our word for too long. */
  async #renew(over: AbortController, signal: AbortSignal): Promise<void> {
    const left = (ms: number, sinceMs: number) => Math.max(0, sinceMs + ms - this.#clock.monotonicMs());
    const setAlarm = () => this.#clock.timer(left(leaderGiveUpMs, this.#saidMs), () => over.abort());
    let alarm = setAlarm();
    // From one beginning to the next: what an answer took is not waited once more.
    let beganMs = this.#saidMs;
    for (;;) {
      await this.#pause.wait(left(this.#trouble ? leaderRetryMs : leaderRenewMs, beganMs), signal);
      if (signal.aborted) break;
      beganMs = this.#clock.monotonicMs();
      if (await this.#tried(signal)) {
        alarm.cancel();
        alarm = setAlarm();
      } else if (this.#holder !== this.#identity) over.abort();
    }
    alarm.cancel();
  }

  async #leadOnce(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    this.#leading = true;
    this.#log.info("started leading", { lease: this.#at.name, identity: this.#identity });
    const renewing = this.#renew(over, until);
    try {
      await lead(until);
    } finally {
      this.#leading = false;
      over.abort();
      await renewing;
      this.#log.info("stopped leading", {
        lease: this.#at.name,
        identity: this.#identity,
        ...(this.#holder !== this.#identity && { holder: this.#holder }),
      });
      if (this.#holder === this.#identity) await this.#release();
    }
  }
}

export function createLeadership(options: LeadershipOptions, deps: LeadershipDeps): Leadership {
  return new Leadership(options, deps);
}

/** "2026-11-15T08:55:00.123000Z": the one kind of time that Kubernetes wants in microseconds. */
function microTime(ms: number): string {
  return formatTime(ms).replace("Z", "000Z");
}
