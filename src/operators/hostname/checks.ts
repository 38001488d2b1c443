/**
 * Checks of host names outside the cluster: DNS proofs of ownership and HTTP probes. Name servers and workloads are the
 * tenants' own and may be slow: each owner has its own queue, and delays no other owner.
 */
import { domainOf, type HostRules, isReserved, isWildcard } from "../../market/host-names.ts";
import { sleep } from "../../runtime/clock.ts";
import type { Condition } from "../../runtime/condition.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { inTime } from "../../runtime/fetch-text.ts";
import { untilAborted } from "../../runtime/lifecycle.ts";
import { done, recheck } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { OperatorDeps } from "../operator-service.ts";
import { hostCondition } from "./host-states.ts";
import { proofEveryMs } from "./plan.ts";

type Services = Omit<OperatorDeps, "kube">;

interface OwnerQueueOptions extends Services {
  readonly name: string;
  /** Owners at once, and host names of one owner at once. */
  readonly concurrency: number;
  readonly ofOwner: number;
  readonly work: (host: string, owner: string, signal: AbortSignal) => Promise<void>;
}

function createOwnerQueue({ ofOwner, work, ...options }: OwnerQueueOptions) {
  const pending = new Map<string, Set<string>>();
  const queue = createQueue({
    ...options,
    async work(owner, signal) {
      const hosts = pending.get(owner);
      const next = [...(hosts ?? [])].slice(0, ofOwner);
      if (next.length === 0) {
        pending.delete(owner);
        return done();
      }
      await Promise.all(next.map((host) => work(host, owner, signal)));
      for (const host of next) hosts?.delete(host);
      return recheck(0);
    },
  });
  return {
    queue,
    isPending: (owner: string) => pending.has(owner),
    add(owner: string, ...hosts: readonly string[]): void {
      pending.set(owner, new Set([...(pending.get(owner) ?? []), ...hosts]));
      queue.add(owner);
    },
  };
}

/** Every text of every record of a name. */
export type ResolveTxt = (name: string) => Promise<readonly (readonly string[])[]>;

export const proofMs = 5_000;
/** Owners whose proofs are looked up at once; one whose name servers are dead takes one of them. */
const proofsAtOnce = 32;

interface ProofDeps extends Services {
  readonly rules: Pick<HostRules, "ingressDomain">;
  readonly resolve: ResolveTxt;
  readonly onAnswer: (host: string) => void;
}

interface Proof {
  readonly owner: string;
  /** Undefined where the owner has proven the domain. */
  readonly missing: string | undefined;
  readonly atMs: number;
}

export type Proofs = ReturnType<typeof createProofs>;

/** A domain is proven by a TXT record that holds its owner's address. */
export function createProofs({ rules, resolve, onAnswer, ...services }: ProofDeps) {
  const { clock } = services;
  /** By host name. A proof stays: records are taken down, and a route that is deleted by hand is to come back. */
  const proofs = new Map<string, Proof>();
  const work = async (host: string, owner: string, signal: AbortSignal) => {
    const missing = await lookUp(host, owner, signal);
    proofs.set(host, { owner, missing, atMs: clock.monotonicMs() });
    onAnswer(host);
  };
  const lookUps = createOwnerQueue({
    ...services,
    ...{ name: "hostname-proofs", concurrency: proofsAtOnce, ofOwner: 1, work },
  });

  function proofOf(host: string, owner: string): Proof | undefined {
    const known = proofs.get(host);
    return known?.owner === owner ? known : undefined;
  }

  async function lookUp(host: string, owner: string, signal: AbortSignal): Promise<string | undefined> {
    const { name, text } = challengeOf(host, owner);
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
    /** What is missing, for the tenant to read. Names below the provider's own domain need no proof. */
    missing(host: string, owner: string): string | undefined {
      if (isReserved(host, rules)) return undefined;
      const known = proofOf(host, owner);
      return known ? known.missing : `${challengeOf(host, owner).text} has not been found yet`;
    },
    /** Looks it up, unless that was done a moment ago. */
    lookUpSoon(host: string, owner: string): void {
      const known = proofOf(host, owner);
      if (!known || clock.monotonicMs() - known.atMs >= proofEveryMs) lookUps.add(owner, host);
    },
    /** The owner has a route for it, which was allowed before. */
    trust(host: string, owner: string): void {
      proofs.set(host, { owner, missing: undefined, atMs: clock.monotonicMs() });
    },
    forget: (host: string): void => void proofs.delete(host),
    queue: lookUps.queue,
  };
}

function challengeOf(host: string, owner: string) {
  const name = `_akash-challenge.${domainOf(host) ?? host}`;
  return { name, text: `a TXT record of ${name} with the text ${owner}` };
}

/** Each host name is probed this often, one after the other. */
export const probeEveryMs = 60_000;
/** A round of thousands takes seconds, and the controller does not notice. */
const probesAtOnce = 16;
/** Of these, probes of one owner's names: an owner whose names all hang delays only itself. */
export const probesOfOwner = 2;

/** The status of the answer; rejects where there is none. */
export type Probe = (host: string, signal: AbortSignal) => Promise<number>;

interface ProbeDeps extends Services {
  readonly probe: Probe;
  readonly served: () => Iterable<{ readonly host: string; readonly owner: string }>;
  readonly onChange: (host: string) => void;
}

export type Probes = ReturnType<typeof createProbes>;

/** Requests host names through the ingress controller, as a client would: any answer of the workload is healthy. */
export function createProbes({ probe, served, onChange, ...services }: ProbeDeps) {
  /** By host name, what its last probe failed with. */
  const failing = new Map<string, string>();
  const work = async (host: string, _: string, signal: AbortSignal) => {
    const [before, failure] = [failing.get(host), await failureOf(host, signal)];
    if (failure === undefined) failing.delete(host);
    else failing.set(host, failure);
    if (failure !== before) onChange(host);
  };
  const concurrency = probesAtOnce / probesOfOwner;
  const round = createOwnerQueue({ ...services, name: "hostname-probes", concurrency, ofOwner: probesOfOwner, work });

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
  async function beginRounds(signal: AbortSignal): Promise<never> {
    for (;;) {
      await sleep(services.clock, probeEveryMs, signal);
      // Which name below a wildcard is served is not known.
      const names = [...served()].filter(({ host }) => !isWildcard(host));
      const hosts = new Set(names.map(({ host }) => host));
      for (const host of failing.keys()) if (!hosts.has(host)) failing.delete(host);
      for (const [owner, own] of Map.groupBy(names, (each) => each.owner))
        if (!round.isPending(owner)) round.add(owner, ...own.map(({ host }) => host));
    }
  }

  return {
    conditionsOf(host: string): Condition[] {
      const failure = failing.get(host);
      return failure === undefined ? [] : [hostCondition("ProbeFailed", failure)];
    },
    run: async (signal: AbortSignal): Promise<void> =>
      void (await Promise.all([round.queue.run(signal), beginRounds(signal)])),
    queue: round.queue,
  };
}
