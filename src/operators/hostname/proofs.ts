/**
 * Whether an owner has proven a domain: a TXT record of it holds the owner's address. Name servers are the tenants' own and
 * may be slow: each owner has one look-up under way, so that it delays no other owner.
 */
import { domainOf } from "../../market/host-names.ts";
import { type HostRules, isReserved } from "../../market/host-rules.ts";
import type { Clock } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { inTime } from "../../runtime/fetch-text.ts";
import { untilAborted } from "../../runtime/lifecycle.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
import { proofEveryMs } from "./plan.ts";

/** Every text of every record of a name. */
export type ResolveTxt = (name: string) => Promise<readonly (readonly string[])[]>;

/** How long a name server may take. */
export const proofMs = 5_000;
/** Owners whose proofs are looked up at once: an owner whose name servers are dead takes one of them. */
const proofsAtOnce = 32;

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
  /** Undefined where the owner has proven the domain. */
  readonly missing: string | undefined;
  readonly atMs: number;
}

export type Proofs = ReturnType<typeof createProofs>;

export function createProofs({ rules, resolve, onAnswer, ...services }: ProofDeps) {
  const { clock } = services;
  /** By host name. A proof stays: records are taken down, and a route that is deleted by hand is to come back. */
  const answers = new Map<string, Answer>();
  /** By owner, the names to look up. */
  const requested = new Map<string, Set<string>>();
  const queue = createQueue({ ...services, name: "hostname-proofs", work: askNext, concurrency: proofsAtOnce });

  function answerOf(host: string, owner: string): Answer | undefined {
    const known = answers.get(host);
    return known?.owner === owner ? known : undefined;
  }

  async function askNext(owner: string, signal: AbortSignal): Promise<Outcome> {
    const hosts = requested.get(owner);
    const [host] = hosts ?? [];
    if (host === undefined) {
      requested.delete(owner);
      return done();
    }
    const missing = await lookUp(host, owner, signal);
    hosts?.delete(host);
    answers.set(host, { owner, missing, atMs: clock.monotonicMs() });
    onAnswer(host);
    return recheck(0);
  }

  async function lookUp(host: string, owner: string, signal: AbortSignal): Promise<string | undefined> {
    const { name, text } = wanted(host, owner);
    try {
      const limit = { limitMs: proofMs, clock, signal };
      const records = await inTime(limit, (until) => Promise.race([resolve(name), untilAborted(until)]));
      signal.throwIfAborted();
      return records?.some((texts) => texts.join("").trim() === owner) ? undefined : `there is not ${text}`;
    } catch (thrown) {
      signal.throwIfAborted();
      return `there is not ${text}: ${reasonOf(thrown)}`;
    }
  }

  return {
    /** What is missing, for the tenant to read; undefined where nothing is. Names below the provider's own domain need no proof. */
    missing(host: string, owner: string): string | undefined {
      if (isReserved(host, rules)) return undefined;
      const known = answerOf(host, owner);
      return known ? known.missing : `${wanted(host, owner).text} has not been found yet`;
    },
    /** Looks it up, unless that was done a moment ago. */
    ask(host: string, owner: string): void {
      const known = answerOf(host, owner);
      if (known && clock.monotonicMs() - known.atMs < proofEveryMs) return;
      requested.set(owner, (requested.get(owner) ?? new Set()).add(host));
      queue.add(owner);
    },
    /** The owner has a route for it, which was allowed before. */
    believe(host: string, owner: string): void {
      answers.set(host, { owner, missing: undefined, atMs: clock.monotonicMs() });
    },
    forget: (host: string): void => void answers.delete(host),
    queue,
  };
}

function wanted(host: string, owner: string) {
  const name = `_akash-challenge.${domainOf(host) ?? host}`;
  return { name, text: `a TXT record of ${name} with the text ${owner}` };
}
