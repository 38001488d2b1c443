/**
 * Asks host names through the ingress controller, as somebody from outside would: any answer of the workload will do. Workloads
 * are the tenants' own, and may take their time: each owner has a round and a few questions of his own, so that he holds up
 * nobody but himself.
 */
import { isWildcard } from "../../market/host-names.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
import { type Condition, condition } from "./condition.ts";

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

export function createProbes({ probe, served, onChange, ...ground }: ProbeDeps) {
  const { clock } = ground;
  const failing = new Map<string, string>();
  /** By owner, the names of his round that are still to be asked. */
  const asked = new Map<string, string[]>();
  const concurrency = limits.hostnameProbesAtOnce / limits.hostnameProbesOfOwner;
  const queue = createQueue({ ...ground, name: "hostname-probes", work: askNext, concurrency });

  async function askNext(owner: string, signal: AbortSignal): Promise<Outcome> {
    const next = asked.get(owner)?.splice(0, limits.hostnameProbesOfOwner) ?? [];
    if (next.length === 0) {
      asked.delete(owner);
      return done();
    }
    await Promise.all(next.map((host) => ask(host, signal)));
    return recheck(0);
  }

  async function ask(host: string, signal: AbortSignal): Promise<void> {
    const [before, trouble] = [failing.get(host), await troubleWith(host, signal)];
    if (trouble === undefined) failing.delete(host);
    else failing.set(host, trouble);
    if (trouble !== before) onChange(host);
  }

  async function troubleWith(host: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const status = await probe(host, signal);
      // What a controller says for a workload that it cannot reach.
      return status >= 502 && status <= 504 ? `a probe was answered with status ${status}` : undefined;
    } catch (thrown) {
      signal.throwIfAborted();
      return `a probe was not answered: ${reasonOf(thrown)}`;
    }
  }

  /** Who is still at his last round goes on with that. */
  function begin(): void {
    const rounds = new Map<string, string[]>();
    const hosts = new Set<string>();
    for (const { host, owner } of served()) {
      // Which name below a wildcard would be served, nobody knows.
      if (isWildcard(host)) continue;
      hosts.add(host);
      const round = rounds.get(owner);
      if (round) round.push(host);
      else rounds.set(owner, [host]);
    }
    for (const host of failing.keys()) if (!hosts.has(host)) failing.delete(host);
    for (const [owner, round] of rounds) {
      if (asked.has(owner)) continue;
      asked.set(owner, round);
      queue.add(owner);
    }
  }

  async function beginEvery(signal: AbortSignal): Promise<never> {
    for (;;) {
      await sleep(clock, limits.hostnameProbeEveryMs, signal);
      begin();
    }
  }

  return {
    troubleOf(host: string): Condition[] {
      const trouble = failing.get(host);
      return trouble === undefined ? [] : [condition("ProbeFailed", trouble)];
    },
    async run(signal: AbortSignal): Promise<void> {
      await Promise.all([queue.run(signal), beginEvery(signal)]);
    },
    queue,
  };
}
