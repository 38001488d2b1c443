/**
 * Whether an owner has shown that a domain is his: a TXT record in its DNS holds his address. Name servers are the tenants'
 * own, and may take their time: each owner has one question under way, so that he holds up nobody but himself.
 */
import { domainOf } from "../../market/host-names.ts";
import { type HostRules, isReserved } from "../../market/host-rules.ts";
import type { Clock } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { inTime } from "../../runtime/fetch-text.ts";
import { untilAborted } from "../../runtime/lifecycle.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";

/** Every text of every record of a name. */
export type ResolveTxt = (name: string) => Promise<readonly (readonly string[])[]>;

interface ProofDeps {
  readonly rules: Pick<HostRules, "ingressDomain">;
  readonly resolve: ResolveTxt;
  /** There is an answer for a host name. */
  readonly onAnswer: (host: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface Answer {
  readonly owner: string;
  readonly missing: string | undefined;
  readonly atMs: number;
}

export type Proofs = ReturnType<typeof createProofs>;

export function createProofs({ rules, resolve, onAnswer, ...ground }: ProofDeps) {
  const { clock } = ground;
  const answers = new Map<string, Answer>();
  /** By host name, its owner, who has shown it: records are taken down again, and a route that somebody deletes is to come back. */
  const proven = new Map<string, string>();
  /** By owner, the names that are to be asked for. */
  const asked = new Map<string, Set<string>>();
  const queue = createQueue({ ...ground, name: "hostname-proofs", work: askNext, concurrency: limits.hostnameProofs });

  async function askNext(owner: string, signal: AbortSignal): Promise<Outcome> {
    const hosts = asked.get(owner);
    const [host] = hosts ?? [];
    if (host === undefined) {
      asked.delete(owner);
      return done();
    }
    const missing = await lookUp(host, owner, signal);
    hosts?.delete(host);
    answers.set(host, { owner, missing, atMs: clock.monotonicMs() });
    if (missing === undefined) proven.set(host, owner);
    onAnswer(host);
    return recheck(0);
  }

  async function lookUp(host: string, owner: string, signal: AbortSignal): Promise<string | undefined> {
    const { name, text } = wanted(host, owner);
    try {
      const asking = { limitMs: limits.hostnameProofMs, clock, signal };
      const records = await inTime(asking, (until) => Promise.race([resolve(name), untilAborted(until)]));
      signal.throwIfAborted();
      return records?.some((texts) => texts.join("").trim() === owner) ? undefined : `there is not ${text}`;
    } catch (thrown) {
      signal.throwIfAborted();
      return `there is not ${text}: ${reasonOf(thrown)}`;
    }
  }

  return {
    /**
     * What is missing, in words for the tenant; undefined where nothing is. What is not known yet is missing, and asked for.
     * Names below the provider's own domain need no proof.
     */
    missing(host: string, owner: string): string | undefined {
      if (isReserved(host, rules) || proven.get(host) === owner) return undefined;
      proven.delete(host);
      const known = answers.get(host);
      const own = known?.owner === owner ? known : undefined;
      if (own && clock.monotonicMs() - own.atMs < limits.hostnameProofEveryMs) return own.missing;
      asked.set(owner, (asked.get(owner) ?? new Set()).add(host));
      queue.add(owner);
      return own?.missing ?? `${wanted(host, owner).text} has not been found yet`;
    },
    /** It is served: somebody let its owner have it. */
    believe: (host: string, owner: string) => void proven.set(host, owner),
    forget(host: string): void {
      answers.delete(host);
      proven.delete(host);
    },
    queue,
  };
}

function wanted(host: string, owner: string) {
  const name = `_akash-challenge.${domainOf(host) ?? host}`;
  return { name, text: `a TXT record of ${name} with the text ${owner}` };
}
