/**
 * Requests host names through the ingress controller, as a client from outside would: any answer of the workload is healthy.
 * Workloads are the tenants' own and may be slow: each owner has a round and a few probes of its own, so that it delays no other.
 */
import { isWildcard } from "../../market/host-names.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import type { Condition } from "../../runtime/condition.ts";
import { reasonOf } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
import { hostCondition } from "./host-states.ts";

/** Each host name is probed this often, one after the other. */
export const probeEveryMs = 60_000;
/** Probes under way at once: a round of thousands takes seconds, and the controller does not notice. */
const probesAtOnce = 16;
/** Of these, probes of one owner's names: an owner whose names all hang delays only itself. */
export const probesOfOwner = 2;

/** The status of the answer; rejects where there is none. */
export type Probe = (host: string, signal: AbortSignal) => Promise<number>;

interface ProbeDeps {
  readonly probe: Probe;
  /** The names that are served now. */
  readonly served: () => Iterable<{ readonly host: string; readonly owner: string }>;
  readonly onChange: (host: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export type Probes = ReturnType<typeof createProbes>;

export function createProbes({ probe, served, onChange, ...services }: ProbeDeps) {
  const { clock } = services;
  /** By host name, what its last probe failed with. */
  const failing = new Map<string, string>();
  /** By owner, the names of its round that are still to be probed. */
  const rounds = new Map<string, string[]>();
  const concurrency = probesAtOnce / probesOfOwner;
  const queue = createQueue({ ...services, name: "hostname-probes", work: probeNext, concurrency });

  async function probeNext(owner: string, signal: AbortSignal): Promise<Outcome> {
    const next = rounds.get(owner)?.splice(0, probesOfOwner) ?? [];
    if (next.length === 0) {
      rounds.delete(owner);
      return done();
    }
    await Promise.all(next.map((host) => probeOne(host, signal)));
    return recheck(0);
  }

  async function probeOne(host: string, signal: AbortSignal): Promise<void> {
    const [before, failure] = [failing.get(host), await failureOf(host, signal)];
    if (failure === undefined) failing.delete(host);
    else failing.set(host, failure);
    if (failure !== before) onChange(host);
  }

  async function failureOf(host: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const status = await probe(host, signal);
      // What a controller answers for a workload that it cannot reach.
      return status >= 502 && status <= 504 ? `a probe was answered with status ${status}` : undefined;
    } catch (thrown) {
      signal.throwIfAborted();
      return `a probe was not answered: ${reasonOf(thrown)}`;
    }
  }

  /** An owner whose last round is under way goes on with that one. */
  function begin(): void {
    // Which name below a wildcard is served is not known.
    const names = [...served()].filter(({ host }) => !isWildcard(host));
    const hosts = new Set(names.map(({ host }) => host));
    for (const host of failing.keys()) if (!hosts.has(host)) failing.delete(host);
    for (const [owner, own] of Map.groupBy(names, (each) => each.owner)) {
      if (rounds.has(owner)) continue;
      rounds.set(
        owner,
        own.map(({ host }) => host),
      );
      queue.add(owner);
    }
  }

  async function beginEvery(signal: AbortSignal): Promise<never> {
    for (;;) {
      await sleep(clock, probeEveryMs, signal);
      begin();
    }
  }

  return {
    troubleOf(host: string): Condition[] {
      const failure = failing.get(host);
      return failure === undefined ? [] : [hostCondition("ProbeFailed", failure)];
    },
    async run(signal: AbortSignal): Promise<void> {
      await Promise.all([queue.run(signal), beginEvery(signal)]);
    },
    queue,
  };
}
