/** The loop of one address: all ports of a sharing key together, from the resources that ask for them to Services and back. */
import { kinds, objectText } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import type { Address } from "../../market/address.ts";
import { formatLeaseId, type LeaseId } from "../../market/ids.ts";
import type { Clock } from "../../runtime/clock.ts";
import { type Condition, condition } from "../../runtime/condition.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { done, failed, type Outcome, recheck, stalled, waiting } from "../../runtime/outcome.ts";
import type { IgnoreList } from "../ignore-list.ts";
import type { OwnBalancer } from "./balancer.ts";
import { createBalancerWrites, type Failure, type Written } from "./balancer-writes.ts";
import type { LeasedPort } from "./leased-port.ts";
import type { OwnRange } from "./own-range.ts";
import type { PacedApply, Turn } from "./paced-apply.ts";
import { type AddressPlan, type AddressTruth, isOfPort, type PlannedBalancer, planAddress } from "./plan.ts";
import { exhausted, type Shortage, type Supply } from "./supply.ts";
import type { IpView } from "./view.ts";

/** How long what nothing asks for may take to go before a person is told, as the network documents it. */
export const addressCleanUpMs = 5 * minute;

interface AddressLoopOptions {
  readonly provider: Address;
  readonly manifestNamespace: string;
  readonly retryDelayMs: number;
}

interface AddressLoopDeps {
  readonly kube: Pick<Kube, "get" | "delete">;
  readonly apply: PacedApply;
  readonly view: IpView;
  /** Where the addresses are of a range that is ours; an empty one where all are MetalLB's to give. */
  readonly range: OwnRange;
  readonly supply: Pick<Supply, "poolFor" | "shortage">;
  readonly ignored: IgnoreList;
  /** How an address stands after a look; nothing once there is nothing to tell. */
  readonly tell: (key: string, looked: Looked) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export function createAddressLoop(options: AddressLoopOptions, deps: AddressLoopDeps) {
  const { view, range, supply, ignored, tell, clock, log } = deps;
  const writes = createBalancerWrites(options, deps);
  /** Since when something of an address is to be gone. */
  const cleaning = new Map<string, number>();
  /** Keys that have no address because there was none. */
  const without = new Set<string>();
  /** Keys that MetalLB is to give one, whichever is free. */
  const hopeful = new Set<string>();
  /** The resources of a key that were last seen without an address. */
  const unassigned = new Map<string, ReadonlySet<string>>();

  async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    const trouble = view.trouble;
    if (trouble !== undefined) return waiting("cluster", trouble);
    const conditions = refusals(key);
    const { ports, balancers } = view.truth(key);
    // Who asks for nothing any more may have a Service that cannot be deleted.
    const left = balancers.flatMap(({ deleting, ours }) => (deleting ? [] : ours.lease));
    ignored.forget(key, [...leasesOf(ports), ...left]);
    noteUnassigned(key, ports);
    const note: Note = (type, message) => void conditions.push(condition(type, message, { subject: key }));
    let pauseMs = 0;
    const contested: Turn["contested"] = (message, forMs) => {
      note("Contested", message);
      pauseMs = Math.max(pauseMs, forMs);
    };
    try {
      const outcome = await settle(key, note, { signal, contested });
      return pauseMs > 0 && outcome.kind !== "failed" ? recheck(pauseMs) : outcome;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = ProviderError.from(thrown);
      const failures = Array.from(leasesOf(ports), (lease) => ({ lease, error }));
      return afterFailure(key, error, failures, note);
    } finally {
      tell(key, { conditions, ports, assigned: newlyAssigned(key, ports) });
    }
  }

  /** Those that have an address now and had none when this process saw them before. */
  function newlyAssigned(key: string, ports: readonly LeasedPort[]): LeasedPort[] {
    const assigned = ports.filter((port) => unassigned.get(key)?.has(port.resource) && view.addressOf(port));
    unassigned.delete(key);
    noteUnassigned(key, ports);
    return assigned;
  }

  function noteUnassigned(key: string, ports: readonly LeasedPort[]): void {
    const without = ports.filter((port) => view.addressOf(port) === undefined).map(({ resource }) => resource);
    if (without.length > 0) unassigned.set(key, new Set([...(unassigned.get(key) ?? []), ...without]));
  }

  function afterFailure(key: string, error: ProviderError, failures: readonly Failure[], note: Note): Outcome {
    const messages = [error, ...failures.map((each) => each.error)].map(({ message }) => message);
    for (const message of new Set(messages)) note("Failed", message);
    // Where nobody asks for anything, or all have failed often enough, there is no hurry: the pauses grow.
    const isListed = failures.every(({ lease }) => ignored.isFlagged(lease));
    const isOver = view.portsOf(key).ports.length === 0;
    // Once a look, however many ports it has.
    const byLease = new Map(failures.map((each) => [formatLeaseId(each.lease), each]));
    for (const each of byLease.values()) ignored.failed(each.lease, each.error, key);
    if (isListed || isOver) return failed(error);
    log.warn("address not settled, trying again", { key, error });
    return recheck(options.retryDelayMs);
  }

  async function settle(key: string, note: Note, turn: Turn): Promise<Outcome> {
    const pool = view.ownPoolOf(key);
    const isPoolGoing = pool?.deleting === true;
    if (isPoolGoing) note("PoolDeleting", `${objectText(kinds.ipAddressPool, pool)} is being deleted`);
    // One that goes would lend its name to a new one only to go with it.
    const lack = isPoolGoing ? undefined : await provide(key, turn);
    const truth = truthOf(key);
    if (truth.ports.length === 0 && truth.balancers.length === 0) return over(key, turn.signal);
    const plan = planAddress(truth);
    const isLate = isCleanUpLate(key, truth, plan);
    if (isLate) note("CleanUpFailed", cleanUpText(truth, plan));
    differing(plan, note);
    const { applied, failures } = await write(truth, plan, lack === undefined && !isPoolGoing, turn);
    // Nobody who could take the address over has come.
    const removed = isLate ? [...plan.removed, ...plan.kept] : plan.removed.filter(isReplaced(truth, applied));
    const unremoved = await writes.remove(key, removed, applied, turn.signal);
    const standing = standingOf(key, { lack, isPoolGoing, failures: [...failures, ...unremoved] });
    const undropped = await dropPending(key, standing, turn.signal);
    const outcome = outcomeOf(key, standing, isLate, note);
    const all = [...standing.failures, ...undropped];
    return all[0] ? afterFailure(key, all[0].error, all, note) : outcome;
  }

  function truthOf(key: string): AddressTruth {
    const truth = view.truth(key);
    return {
      ...truth,
      isTaken: (at) => writes.isTaken(at, key) || truth.isTaken(at),
      canHave: (address) => truth.canHave(address) || range.canHave(key, address),
    };
  }

  /** An address for a key that has none: of our own range, or at least the prospect of one. */
  async function provide(key: string, turn: Turn): Promise<Shortage | undefined> {
    const truth = truthOf(key);
    if (truth.ports.length === 0) return undefined;
    const plan = planAddress(truth);
    const isGiven = plan.address !== undefined && truth.poolAddress === undefined && !range.isInRange(plan.address);
    if (range.ranges.length === 0 || isGiven) {
      const isPending = plan.wanted.length > 0;
      return plan.address === undefined && !isPending ? supply.shortage() : undefined;
    }
    const lack = truth.poolAddress === undefined ? supply.shortage() : undefined;
    // The one that its Services ask for is theirs, however few are left.
    if (lack && !(lack.type === "PoolExhausted" && plan.address !== undefined)) return lack;
    const address = await range.ensure(key, truth, turn);
    return address === undefined ? exhausted() : undefined;
  }

  async function over(key: string, signal: AbortSignal): Promise<Outcome> {
    without.delete(key);
    hopeful.delete(key);
    cleaning.delete(key);
    await range.release(key, signal);
    return done();
  }

  async function write(truth: AddressTruth, plan: AddressPlan, mayCome: boolean, turn: Turn): Promise<Written> {
    const poolOf = truth.poolAddress === undefined ? supply.poolFor : () => undefined;
    // Without an address to be had, what is there already is still kept up to date.
    const wanted = mayCome ? plan.wanted : plan.wanted.filter(({ live }) => live !== undefined);
    const written = await writes.apply(wanted, poolOf, turn);
    const first = await writes.applyFirst(mayCome ? plan.firsts : [], poolOf, turn);
    return {
      applied: [...written.applied, ...first.applied],
      failures: [...written.failures, ...first.failures],
    };
  }

  /** Those that MetalLB would give the next address to come free, which may be one that its tenant gives up for an instant. */
  function dropPending(key: string, { truth, plan, short }: Standing, signal: AbortSignal): Promise<Failure[]> {
    const isFull = short?.type === "PoolExhausted" && plan.address === undefined;
    const isPending = ({ deleting, addresses, ours }: OwnBalancer) =>
      !deleting && addresses.length === 0 && ours.pin === "";
    return writes.dropPending(key, isFull ? truth.balancers.filter(isPending) : [], signal);
  }

  function isCleanUpLate(key: string, truth: AddressTruth, plan: AddressPlan): boolean {
    if (isClean(truth, plan)) {
      cleaning.delete(key);
      return false;
    }
    const sinceMs = cleaning.get(key) ?? clock.monotonicMs();
    cleaning.set(key, sinceMs);
    return clock.monotonicMs() - sinceMs > addressCleanUpMs;
  }

  function refusals(key: string): Condition[] {
    const refused = [...view.declared.by("key", key)].flatMap(({ resource, refused: why }) =>
      why === undefined ? [] : [condition("Refused", why, { subject: resource })],
    );
    const double = view.portsOf(key).double.map(({ resource, protocol, externalPort }) => {
      const message = `another resource asks for ${protocol} ${externalPort} of the same address`;
      return condition("Refused", message, { subject: resource });
    });
    return [...refused, ...double];
  }

  /** As it is by now: what was written may have its address already. */
  function standingOf(key: string, { lack, isPoolGoing, failures }: Tried): Standing {
    const truth = truthOf(key);
    const plan = planAddress(truth);
    const addressed = plan.wanted.flatMap(({ port, live }) => (live && live.addresses.length > 0 ? port : []));
    const failing = new Set(failures.map(({ lease }) => formatLeaseId(lease)));
    const pending = truth.ports.filter((port) => !addressed.includes(port) && !failing.has(formatLeaseId(port.lease)));
    const isLacking = pending.length > 0 && plan.address === undefined && !isPoolGoing;
    for (const { lease } of addressed) if (!failing.has(formatLeaseId(lease))) ignored.succeeded(lease, key);
    return { truth, plan, pending, short: lack ?? (isLacking ? supply.shortage() : undefined), failures };
  }

  function outcomeOf(key: string, { truth, plan, pending, short }: Standing, isLate: boolean, note: Note): Outcome {
    hopeful.delete(key);
    if (short && truth.ports.length > 0) {
      without.add(key);
      note(short.type, short.error.message);
      for (const lease of leasesOf(pending)) ignored.failed(lease, short.error, key);
      log.info("no address available", { key, reason: short.error.message });
      return waiting("address", short.error.message);
    }
    without.delete(key);
    if (isLate) return stalled("what nothing asks for any more does not go");
    const isPending = pending.length > 0;
    if (!isPending && isClean(truth, plan)) return done();
    if (isPending && plan.address === undefined) hopeful.add(key);
    if (isPending) note("AddressPending", `MetalLB has not given ${plan.address ?? "an address"} yet`);
    // Whatever happens next to these Services wakes it.
    return waiting("MetalLB", isPending ? "the address was not given yet" : "what is not asked for goes");
  }

  return {
    look,
    /** Those that may go on when an address comes free. */
    get without(): Iterable<string> {
      return without;
    },
    /** Those that are to be told when the last one goes to another: they would have the next, whosever it is. */
    get hopeful(): Iterable<string> {
      return hopeful;
    },
    /** Of another time of leading. */
    forget(): void {
      unassigned.clear();
    },
  };
}

/** What a look at an address came to. */
export interface Looked {
  readonly conditions: readonly Condition[];
  readonly ports: readonly LeasedPort[];
  /** Those that have an address since. */
  readonly assigned: readonly LeasedPort[];
}

type Note = (type: string, message: string) => void;

interface Tried {
  readonly lack: Shortage | undefined;
  readonly isPoolGoing: boolean;
  readonly failures: readonly Failure[];
}

interface Standing {
  readonly truth: AddressTruth;
  readonly plan: AddressPlan;
  /** Without an address, though nothing of their leases failed. */
  readonly pending: readonly LeasedPort[];
  /** Why there is none to be had. */
  readonly short: Shortage | undefined;
  readonly failures: readonly Failure[];
}

/** Each once, however many ports it has. */
function leasesOf(ports: readonly LeasedPort[]): Iterable<LeaseId> {
  return new Map(ports.map(({ namespace, lease }) => [namespace, lease])).values();
}

/** Nothing is there that nothing asks for. */
function isClean({ balancers }: AddressTruth, { removed, kept }: AddressPlan): boolean {
  return removed.length + kept.length === 0 && !balancers.some(({ deleting }) => deleting);
}

/** It serves its port, and holds the address, until the one that comes after it is written. */
function isReplaced({ ports }: AddressTruth, applied: readonly PlannedBalancer[]) {
  return (each: OwnBalancer): boolean =>
    each.addresses.length === 0 ||
    !ports.some((port) => isOfPort(each, port)) ||
    applied.some(({ port }) => isOfPort(each, port));
}

/** The network's operator leaves it to MetalLB whether they share; to put it right would take an address from a tenant. */
function differing({ wanted }: AddressPlan, note: Note): void {
  const addresses = new Set(wanted.flatMap(({ live }) => live?.addresses ?? []));
  if (addresses.size > 1) note("AddressesDiffer", `its ports are on ${[...addresses].join(" and ")}`);
}

function cleanUpText({ balancers }: AddressTruth, { removed, kept }: AddressPlan): string {
  const left = balancers.filter((each) => each.deleting || removed.includes(each) || kept.includes(each));
  return `${left.map((each) => objectText(kinds.service, each)).join(", ")} should have gone long ago`;
}
