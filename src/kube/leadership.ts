/**
 * Which of several copies of a program works: the one whose name stands in a Lease of the cluster. Whether that one lives is
 * told by when its word was last seen to change, by our own clock: those of two machines may differ. Who can't say that it
 * lives stops before another may begin.
 */
import { type Clock, formatTime } from "../runtime/clock.ts";
import { second } from "../runtime/durations.ts";
import { ProviderError } from "../runtime/errors.ts";
import type { Log } from "../runtime/log.ts";
import { createPause } from "../runtime/pause.ts";
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
export const leaderLookMs = 2 * second;

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

export type Leadership = ReturnType<typeof createLeadership>;

export function createLeadership({ identity, ...at }: LeadershipOptions, { kube, clock, log }: LeadershipDeps) {
  const { lease: kind } = kinds;
  const pause = createPause(clock);
  let seen: { readonly version: string | undefined; readonly atMs: number } | undefined;
  /** The Lease as we wrote it last. Who leads goes on from it: another that wrote since makes that a conflict. */
  let own: KubeObject | undefined;
  /** When the last word that was taken was sent: nobody can have seen it before, so nobody counts from an earlier time. */
  let saidMs = 0;
  let holder: string | undefined;
  let leading = false;
  let trouble: ProviderError | undefined;

  /** In a process that was stopped for a while, other timers may fire before the alarm does. */
  const isLeading = () => leading && clock.monotonicMs() - saidMs < leaderGiveUpMs;

  /** One try; true where the name in the Lease is ours now, by a write of this moment. */
  async function claim(signal: AbortSignal): Promise<boolean> {
    const options = { signal, deadlineMs: leaderRenewMs };
    // One request rather than two: a slow API server leaves no time for both.
    if (own && (await written(kube.replace(kind, desired(own), options)))) return true;
    const live = await kube.get(kind, at, options);
    if (!live) {
      if (!leading && !isSilentSinceMissing()) return false;
      return written(kube.create(kind, desired(undefined), options));
    }
    const { resourceVersion: version } = live.metadata;
    if (seen?.version !== version) seen = { version, atMs: clock.monotonicMs() };
    holder = textOf(fieldsOf(live["spec"])["holderIdentity"]) || undefined;
    if (holder !== undefined && holder !== identity && !isSilent()) return false;
    return written(kube.replace(kind, desired(live), options));
  }

  /** Where it was deleted, a leader that does not know that yet makes it again or stops within its time. */
  function isSilentSinceMissing(): boolean {
    if (!seen || seen.version !== undefined) {
      seen = { version: undefined, atMs: clock.monotonicMs() };
      log.info("waiting to lead, since the Lease is missing", { lease: at.name, ms: leaderDurationMs });
    }
    return isSilent();
  }

  function isSilent(): boolean {
    return seen !== undefined && clock.monotonicMs() - seen.atMs > leaderDurationMs;
  }

  async function written(writing: Promise<KubeObject>): Promise<boolean> {
    const sentMs = clock.monotonicMs();
    try {
      own = await writing;
      seen = { version: own.metadata.resourceVersion, atMs: clock.monotonicMs() };
      saidMs = sentMs;
      holder = identity;
      return true;
    } catch (thrown) {
      // Another was quicker, or ours was deleted. Where nothing was ours, its namespace is missing: that is trouble.
      const wasDeleted = own !== undefined && ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND");
      if (!wasDeleted && !slower.some((code) => ProviderError.is(thrown, code))) throw thrown;
      own = undefined;
      return false;
    }
  }

  function desired(live: KubeObject | undefined, holderIdentity: string = identity): KubeObject {
    const before = fieldsOf(live?.["spec"]);
    const isOurs = textOf(before["holderIdentity"]) === holderIdentity;
    const now = microTime(clock.now());
    return {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: live?.metadata ?? at,
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
  async function tried(signal: AbortSignal): Promise<boolean> {
    try {
      const isOurs = await claim(signal);
      trouble = undefined;
      return isOurs;
    } catch (thrown) {
      if (signal.aborted) return false;
      const error = ProviderError.from(thrown);
      if (error.message !== trouble?.message) log.warn("failed to acquire leader lease", { lease: at.name, error });
      trouble = error;
      return false;
    }
  }

  /** So that the next one need not wait until we are believed to be dead. */
  async function release(): Promise<void> {
    own = undefined;
    try {
      const deadlineMs = leaderLookMs;
      const live = await kube.get(kind, at, { deadlineMs });
      if (live && textOf(fieldsOf(live["spec"])["holderIdentity"]) === identity)
        await kube.replace(kind, desired(live, ""), { deadlineMs });
    } catch (thrown) {
      log.info("failed to release the lead", { lease: at.name, error: ProviderError.from(thrown) });
    }
  }

  /** Says that it lives until it is over: another has the lead, or nobody took our word for too long. */
  async function renew(over: AbortController, signal: AbortSignal): Promise<void> {
    const left = (ms: number, sinceMs: number) => Math.max(0, sinceMs + ms - clock.monotonicMs());
    const setAlarm = () => clock.timer(left(leaderGiveUpMs, saidMs), () => over.abort());
    let alarm = setAlarm();
    // From one beginning to the next: what an answer took is not waited once more.
    let beganMs = saidMs;
    for (;;) {
      await pause.wait(left(trouble ? leaderLookMs : leaderRenewMs, beganMs), signal);
      if (signal.aborted) break;
      beganMs = clock.monotonicMs();
      if (await tried(signal)) {
        alarm.cancel();
        alarm = setAlarm();
      } else if (holder !== identity) over.abort();
    }
    alarm.cancel();
  }

  async function leadOnce(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    leading = true;
    log.info("started leading", { lease: at.name, identity });
    const renewing = renew(over, until);
    try {
      await lead(until);
    } finally {
      leading = false;
      over.abort();
      await renewing;
      log.info("stopped leading", { lease: at.name, identity, ...(holder !== identity && { holder }) });
      if (holder === identity) await release();
    }
  }

  return {
    get leading(): boolean {
      return isLeading();
    },
    /** Why this copy does nothing, in words; undefined while it leads. */
    get waitingFor(): string | undefined {
      if (isLeading()) return undefined;
      if (leading) return "the Lease was not renewed in time";
      if (trouble) return trouble.message;
      if (seen && seen.version === undefined) return "the Lease is missing, and a leader may not have seen that yet";
      return `${holder ?? "no copy"} leads`;
    },
    /**
     * Leads whenever it can, until the signal is aborted. `lead` begins anew each time; it ends when its signal says so, and
     * what it rejects with ends this too.
     */
    async run(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void> {
      while (!signal.aborted) {
        if (await tried(signal)) await leadOnce(signal, lead);
        else await pause.wait(leaderLookMs, signal);
      }
    },
  };
}

/** "2026-11-15T08:55:00.123000Z": the one kind of time that Kubernetes wants in microseconds. */
function microTime(ms: number): string {
  return formatTime(ms).replace("Z", "000Z");
}
