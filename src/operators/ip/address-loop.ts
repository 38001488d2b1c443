/** The reconcile loop of one address: all ports of a sharing key together, from the resources that request them to Services. */
import { kinds, objectText } from "../../kube/kinds.ts";
import { formatLeaseId, type LeaseId } from "../../market/ids.ts";
import { type Condition, condition } from "../../runtime/condition.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { done, failed, type Outcome, recheck, stalled, waiting } from "../../runtime/outcome.ts";
import type { IgnoreList } from "../ignore-list.ts";
import type { WriteTurn } from "../write-pace.ts";
import { BalancerWrites, type Failure, type Written } from "./balancer-writes.ts";
import type { AddressPort, OwnBalancer } from "./objects.ts";
import type { OwnRange } from "./own-range.ts";
import { type AddressPlan, isOfPort, type ObservedAddress, type PlannedBalancer, planAddress } from "./plan.ts";
import { type AddressShortage, exhausted, type Supply } from "./supply.ts";
import type { IpDeps } from "./view.ts";

/** How long obsolete Services may take to go before a condition is reported, as the network documents it. */
export const addressCleanUpMs = 5 * minute;

interface AddressLoopDeps extends IpDeps {
  readonly retryDelayMs: number;
  readonly range: OwnRange;
  readonly supply: Supply;
  readonly ignored: IgnoreList;
  readonly report: (key: string, report: AddressReport) => void;
}

export interface AddressReport {
  readonly conditions: readonly Condition[];
  readonly ports: readonly AddressPort[];
  /** Ports that have an address now and had none when this process saw them before. */
  readonly assigned: readonly AddressPort[];
}

interface Run extends WriteTurn {
  readonly key: string;
  readonly note: (type: string, message: string) => void;
}

interface AddressState {
  readonly observed: ObservedAddress;
  readonly plan: AddressPlan;
  /** Without an address, though nothing of their leases failed. */
  readonly pending: readonly AddressPort[];
  readonly shortage: AddressShortage | undefined;
}

export class AddressLoop {
  readonly #deps: AddressLoopDeps;
  readonly #writes: BalancerWrites;
  /** By key, since when obsolete Services are to go. */
  readonly #cleaning = new Map<string, number>();
  /** Keys without an address because none was free. */
  readonly withoutAddress = new Set<string>();
  /** Keys that wait for any free address of MetalLB: woken when the last one goes to another. */
  readonly awaitingAssignment = new Set<string>();
  /** By key, the resources that were last seen without an address. */
  readonly #unassigned = new Map<string, readonly string[]>();

  constructor(deps: AddressLoopDeps) {
    this.#deps = deps;
    this.#writes = new BalancerWrites(deps);
  }

  /** At the end of a term as leader. */
  forget(): void {
    this.#unassigned.clear();
  }

  readonly reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    const { view, ignored } = this.#deps;
    const reason = view.unavailableReason;
    if (reason !== undefined) return waiting("cluster", reason);
    const conditions = this.#rejections(key);
    const { ports, balancers } = view.observe(key);
    // A lease that requests nothing any more may have a Service that cannot be deleted.
    const left = balancers.flatMap(({ deleting, ours }) => (deleting ? [] : ours.lease));
    ignored.forget(key, [...leasesOf(ports), ...left]);
    const unassigned = () => ports.filter((port) => view.addressOf(port) === undefined).map(({ resource }) => resource);
    const before = [...(this.#unassigned.get(key) ?? []), ...unassigned()];
    const note: Run["note"] = (type, message) => void conditions.push(condition(type, message, { subject: key }));
    let pauseMs = 0;
    const contested: WriteTurn["contested"] = (message, forMs) => {
      note("Contested", message);
      pauseMs = Math.max(pauseMs, forMs);
    };
    const run = { key, note, signal, contested };
    try {
      const outcome = await this.#settle(run);
      return pauseMs > 0 && outcome.kind !== "failed" ? recheck(pauseMs) : outcome;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = ProviderError.from(thrown);
      const failures = Array.from(leasesOf(ports), (lease) => ({ lease, error }));
      return this.#afterFailure(run, error, failures);
    } finally {
      const now = unassigned();
      if (now.length > 0) this.#unassigned.set(key, now);
      else this.#unassigned.delete(key);
      const assigned = ports.filter(({ resource }) => before.includes(resource) && !now.includes(resource));
      this.#deps.report(key, { conditions, ports, assigned });
    }
  };

  #afterFailure({ key, note }: Run, error: ProviderError, failures: readonly Failure[]): Outcome {
    const { view, ignored, retryDelayMs, log } = this.#deps;
    const messages = [error, ...failures.map((each) => each.error)].map(({ message }) => message);
    for (const message of new Set(messages)) note("Failed", message);
    // Where nothing is requested, or all have failed repeatedly, the retries back off.
    const isListed = failures.every(({ lease }) => ignored.isFlagged(lease));
    const isOver = view.portsOf(key).ports.length === 0;
    // Once a run, for any number of ports.
    const byLease = new Map(failures.map((each) => [formatLeaseId(each.lease), each]));
    for (const each of byLease.values()) ignored.failed(each.lease, each.error, key);
    if (isListed || isOver) return failed(error);
    log.warn("address not settled, trying again", { key, error });
    return recheck(retryDelayMs);
  }

  async #settle(run: Run): Promise<Outcome> {
    const { key, note, signal } = run;
    const pool = this.#deps.view.ownPoolOf(key);
    const isPoolGoing = pool?.deleting === true;
    if (isPoolGoing) note("PoolDeleting", `${objectText(kinds.ipAddressPool, pool)} is being deleted`);
    // A new pool of the same name would go with the one that is being deleted.
    const shortage = isPoolGoing ? undefined : await this.#provide(run);
    const observed = this.#observe(key);
    if (observed.ports.length === 0 && observed.balancers.length === 0) return this.#over(key, signal);
    const plan = planAddress(observed);
    const isLate = this.#isCleanUpLate(key, observed, plan);
    if (isLate) note("CleanUpFailed", cleanUpText(observed, plan));
    noteDiffering(plan, run);
    const { applied, failures } = await this.#write(observed, plan, shortage === undefined && !isPoolGoing, run);
    // No successor has come that could hold the address.
    const removed = isLate ? [...plan.removed, ...plan.kept] : plan.removed.filter(isReplaced(observed, applied));
    const unremoved = await this.#writes.remove(key, removed, applied, signal);
    const failedSoFar = [...failures, ...unremoved];
    const state = this.#stateOf(key, shortage, isPoolGoing, failedSoFar);
    const undropped = await this.#dropPending(key, state, signal);
    const outcome = this.#outcomeOf(run, state, isLate);
    const all = [...failedSoFar, ...undropped];
    return all[0] ? this.#afterFailure(run, all[0].error, all) : outcome;
  }

  #observe(key: string): ObservedAddress {
    const { view, range } = this.#deps;
    const observed = view.observe(key);
    return {
      ...observed,
      isTaken: (at) => this.#writes.isTaken(at, key) || observed.isTaken(at),
      canHave: (address) => observed.canHave(address) || range.canHave(key, address),
    };
  }

  /** An address for a key that has none: of our own range, or at least the prospect of one. */
  async #provide(run: Run): Promise<AddressShortage | undefined> {
    const { range, supply } = this.#deps;
    const observed = this.#observe(run.key);
    if (observed.ports.length === 0) return undefined;
    const plan = planAddress(observed);
    const isGiven = plan.address !== undefined && observed.poolAddress === undefined && !range.isInRange(plan.address);
    if (range.ranges.length === 0 || isGiven)
      return plan.address === undefined && plan.wanted.length === 0 ? supply.shortage() : undefined;
    const shortage = observed.poolAddress === undefined ? supply.shortage() : undefined;
    // The address that its Services request is theirs even where no other is free.
    if (shortage && !(shortage.type === "PoolExhausted" && plan.address !== undefined)) return shortage;
    const address = await range.ensure(run.key, observed, run);
    return address === undefined ? exhausted() : undefined;
  }

  async #over(key: string, signal: AbortSignal): Promise<Outcome> {
    this.withoutAddress.delete(key);
    this.awaitingAssignment.delete(key);
    this.#cleaning.delete(key);
    await this.#deps.range.release(key, signal);
    return done();
  }

  async #write(observed: ObservedAddress, plan: AddressPlan, mayCome: boolean, turn: WriteTurn): Promise<Written> {
    const poolOf = observed.poolAddress === undefined ? this.#deps.supply.poolFor : () => undefined;
    // Without an address to be had, existing Services are still kept up to date.
    const wanted = mayCome ? plan.wanted : plan.wanted.filter(({ live }) => live !== undefined);
    const written = await this.#writes.apply(wanted, poolOf, turn);
    const first = await this.#writes.apply(mayCome ? plan.firsts : [], poolOf, turn, "first");
    return { applied: [...written.applied, ...first.applied], failures: [...written.failures, ...first.failures] };
  }

  /** MetalLB would give them the next free address, which another tenant may be moving. */
  #dropPending(key: string, { observed, plan, shortage }: AddressState, signal: AbortSignal): Promise<Failure[]> {
    const isFull = shortage?.type === "PoolExhausted" && plan.address === undefined;
    const isPending = ({ deleting, addresses, ours }: OwnBalancer) =>
      !deleting && addresses.length === 0 && ours.pin === "";
    return this.#writes.dropPending(key, isFull ? observed.balancers.filter(isPending) : [], signal);
  }

  #isCleanUpLate(key: string, observed: ObservedAddress, plan: AddressPlan): boolean {
    const { clock } = this.#deps;
    if (isClean(observed, plan)) this.#cleaning.delete(key);
    else this.#cleaning.set(key, this.#cleaning.get(key) ?? clock.monotonicMs());
    return clock.monotonicMs() - (this.#cleaning.get(key) ?? clock.monotonicMs()) > addressCleanUpMs;
  }

  #rejections(key: string): Condition[] {
    const { view } = this.#deps;
    const rejected = [...view.declared.by("key", key)].flatMap(({ resource, rejection: why }) =>
      why === undefined ? [] : [condition("Refused", why, { subject: resource })],
    );
    const double = view.portsOf(key).double.map(({ resource, protocol, externalPort }) => {
      const message = `another resource requests ${protocol} ${externalPort} of the same address`;
      return condition("Refused", message, { subject: resource });
    });
    return [...rejected, ...double];
  }

  /** After the writes: a new Service may have its address already. */
  #stateOf(
    key: string,
    known: AddressShortage | undefined,
    isPoolGoing: boolean,
    failures: readonly Failure[],
  ): AddressState {
    const { supply, ignored } = this.#deps;
    const observed = this.#observe(key);
    const plan = planAddress(observed);
    const addressed = plan.wanted.flatMap(({ port, live }) => (live && live.addresses.length > 0 ? port : []));
    const failing = new Set(failures.map(({ lease }) => formatLeaseId(lease)));
    const pending = observed.ports.filter(
      (port) => !addressed.includes(port) && !failing.has(formatLeaseId(port.lease)),
    );
    const isLacking = pending.length > 0 && plan.address === undefined && !isPoolGoing;
    for (const { lease } of addressed) if (!failing.has(formatLeaseId(lease))) ignored.succeeded(lease, key);
    return { observed, plan, pending, shortage: known ?? (isLacking ? supply.shortage() : undefined) };
  }

  #outcomeOf({ key, note }: Run, { observed, plan, pending, shortage }: AddressState, isLate: boolean): Outcome {
    const { ignored, log } = this.#deps;
    this.awaitingAssignment.delete(key);
    if (shortage && observed.ports.length > 0) {
      const { message } = shortage.error;
      this.withoutAddress.add(key);
      note(shortage.type, message);
      for (const lease of leasesOf(pending)) ignored.failed(lease, shortage.error, key);
      log.info("no address available", { key, reason: message });
      return waiting("address", message);
    }
    this.withoutAddress.delete(key);
    if (isLate) return stalled("what is not requested any more does not go");
    const isPending = pending.length > 0;
    if (!isPending && isClean(observed, plan)) return done();
    if (isPending && plan.address === undefined) this.awaitingAssignment.add(key);
    if (isPending) note("AddressPending", `MetalLB has not given ${plan.address ?? "an address"} yet`);
    // The next change of these Services wakes it.
    return waiting("MetalLB", isPending ? "the address was not given yet" : "what is not requested goes");
  }
}

function leasesOf(ports: readonly AddressPort[]): Iterable<LeaseId> {
  return new Map(ports.map(({ namespace, lease }) => [namespace, lease])).values();
}

function isClean({ balancers }: ObservedAddress, { removed, kept }: AddressPlan): boolean {
  return removed.length + kept.length === 0 && !balancers.some(({ deleting }) => deleting);
}

/** It serves its port, and holds the address, until its successor is written. */
function isReplaced({ ports }: ObservedAddress, applied: readonly PlannedBalancer[]) {
  return (each: OwnBalancer): boolean =>
    each.addresses.length === 0 ||
    !ports.some((port) => isOfPort(each, port)) ||
    applied.some(({ port }) => isOfPort(each, port));
}

/** Not repaired, as by the network's operator: it would take an address from a tenant. */
function noteDiffering({ wanted }: AddressPlan, { note }: Run): void {
  const addresses = new Set(wanted.flatMap(({ live }) => live?.addresses ?? []));
  if (addresses.size > 1) note("AddressesDiffer", `its ports are on ${[...addresses].join(" and ")}`);
}

function cleanUpText({ balancers }: ObservedAddress, { removed, kept }: AddressPlan): string {
  const left = balancers.filter((each) => each.deleting || removed.includes(each) || kept.includes(each));
  return `${left.map((each) => objectText(kinds.service, each)).join(", ")} should have gone long ago`;
}
