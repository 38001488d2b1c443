/** The loop of one address: all ports of a sharing key together, from the resources that request them to Services. */
import { kinds, objectText } from "../../kube/kinds.ts";
import { formatLeaseId, type LeaseId } from "../../market/ids.ts";
import type { Clock } from "../../runtime/clock.ts";
import { type Condition, condition } from "../../runtime/condition.ts";
import { minute } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { done, failed, type Outcome, recheck, stalled, waiting } from "../../runtime/outcome.ts";
import type { IgnoreList } from "../ignore-list.ts";
import type { WriteTurn } from "../write-pace.ts";
import { BalancerWrites, type BalancerWritesDeps, type Failure, type Written } from "./balancer-writes.ts";
import type { AddressPort, OwnBalancer } from "./objects.ts";
import type { OwnRange } from "./own-range.ts";
import { type AddressPlan, isOfPort, type ObservedAddress, type PlannedBalancer, planAddress } from "./plan.ts";
import { type AddressShortage, exhausted, type Supply } from "./supply.ts";

/** How long obsolete Services may take to go before a person is told, as the network documents it. */
export const addressCleanUpMs = 5 * minute;

interface AddressLoopDeps extends BalancerWritesDeps {
  readonly retryDelayMs: number;
  readonly range: OwnRange;
  readonly supply: Pick<Supply, "poolFor" | "shortage">;
  readonly ignored: IgnoreList;
  readonly report: (key: string, looked: AddressReport) => void;
  readonly clock: Clock;
}

export interface AddressReport {
  readonly conditions: readonly Condition[];
  readonly ports: readonly AddressPort[];
  readonly assigned: readonly AddressPort[];
}

interface Look extends WriteTurn {
  readonly key: string;
  readonly note: (type: string, message: string) => void;
}

interface Standing {
  readonly truth: ObservedAddress;
  readonly plan: AddressPlan;
  /** Without an address, though nothing of their leases failed. */
  readonly pending: readonly AddressPort[];
  readonly short: AddressShortage | undefined;
}

export class AddressLoop {
  readonly #deps: AddressLoopDeps;
  readonly #writes: BalancerWrites;
  /** Since when obsolete Services of a key are to go. */
  readonly #cleaning = new Map<string, number>();
  /** Keys without an address because there was none; they may go on when one comes free. */
  readonly withoutAddress = new Set<string>();
  /** Keys that MetalLB is to give any free address: woken when the last one goes to another. */
  readonly awaitingAssignment = new Set<string>();
  /** The resources of a key that were last seen without an address. */
  readonly #unassigned = new Map<string, ReadonlySet<string>>();

  constructor(deps: AddressLoopDeps) {
    this.#deps = deps;
    this.#writes = new BalancerWrites(deps);
  }

  /** At the end of a term as leader. */
  forget(): void {
    this.#unassigned.clear();
  }

  readonly reconcile = async (key: string, signal: AbortSignal): Promise<Outcome> => {
    const { view, ignored, report: tell } = this.#deps;
    const trouble = view.unavailableReason;
    if (trouble !== undefined) return waiting("cluster", trouble);
    const conditions = this.#rejections(key);
    const { ports, balancers } = view.observe(key);
    // A lease that requests nothing any more may have a Service that cannot be deleted.
    const left = balancers.flatMap(({ deleting, ours }) => (deleting ? [] : ours.lease));
    ignored.forget(key, [...leasesOf(ports), ...left]);
    this.#noteUnassigned(key, ports);
    const note: Look["note"] = (type, message) => void conditions.push(condition(type, message, { subject: key }));
    let pauseMs = 0;
    const contested: WriteTurn["contested"] = (message, forMs) => {
      note("Contested", message);
      pauseMs = Math.max(pauseMs, forMs);
    };
    const look = { key, note, signal, contested };
    try {
      const outcome = await this.#settle(look);
      return pauseMs > 0 && outcome.kind !== "failed" ? recheck(pauseMs) : outcome;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = ProviderError.from(thrown);
      const failures = Array.from(leasesOf(ports), (lease) => ({ lease, error }));
      return this.#afterFailure(look, error, failures);
    } finally {
      tell(key, { conditions, ports, assigned: this.#newlyAssigned(key, ports) });
    }
  };

  /** Those that have an address now and had none when this process saw them before. */
  #newlyAssigned(key: string, ports: readonly AddressPort[]): AddressPort[] {
    const before = this.#unassigned.get(key);
    const assigned = ports.filter((port) => before?.has(port.resource) && this.#deps.view.addressOf(port));
    this.#unassigned.delete(key);
    this.#noteUnassigned(key, ports);
    return assigned;
  }

  #noteUnassigned(key: string, ports: readonly AddressPort[]): void {
    const { view } = this.#deps;
    const without = ports.filter((port) => view.addressOf(port) === undefined).map(({ resource }) => resource);
    if (without.length > 0) this.#unassigned.set(key, new Set([...(this.#unassigned.get(key) ?? []), ...without]));
  }

  #afterFailure({ key, note }: Look, error: ProviderError, failures: readonly Failure[]): Outcome {
    const { view, ignored, retryDelayMs, log } = this.#deps;
    const messages = [error, ...failures.map((each) => each.error)].map(({ message }) => message);
    for (const message of new Set(messages)) note("Failed", message);
    // Where nothing is requested, or all have failed often enough, the pauses grow.
    const isListed = failures.every(({ lease }) => ignored.isFlagged(lease));
    const isOver = view.portsOf(key).ports.length === 0;
    // Once a look, however many ports it has.
    const byLease = new Map(failures.map((each) => [formatLeaseId(each.lease), each]));
    for (const each of byLease.values()) ignored.failed(each.lease, each.error, key);
    if (isListed || isOver) return failed(error);
    log.warn("address not settled, trying again", { key, error });
    return recheck(retryDelayMs);
  }

  async #settle(look: Look): Promise<Outcome> {
    const { key, note, signal } = look;
    const pool = this.#deps.view.ownPoolOf(key);
    const isPoolGoing = pool?.deleting === true;
    if (isPoolGoing) note("PoolDeleting", `${objectText(kinds.ipAddressPool, pool)} is being deleted`);
    // A new pool of the same name would go with the one that is being deleted.
    const lack = isPoolGoing ? undefined : await this.#provide(look);
    const truth = this.#truthOf(key);
    if (truth.ports.length === 0 && truth.balancers.length === 0) return this.#over(key, signal);
    const plan = planAddress(truth);
    const isLate = this.#isCleanUpLate(key, truth, plan);
    if (isLate) note("CleanUpFailed", cleanUpText(truth, plan));
    noteDiffering(plan, look);
    const { applied, failures } = await this.#write(truth, plan, lack === undefined && !isPoolGoing, look);
    // Nothing that could take the address over has come.
    const removed = isLate ? [...plan.removed, ...plan.kept] : plan.removed.filter(isReplaced(truth, applied));
    const unremoved = await this.#writes.remove(key, removed, applied, signal);
    const failedSoFar = [...failures, ...unremoved];
    const standing = this.#standingOf(key, lack, isPoolGoing, failedSoFar);
    const undropped = await this.#dropPending(key, standing, signal);
    const outcome = this.#outcomeOf(look, standing, isLate);
    const all = [...failedSoFar, ...undropped];
    return all[0] ? this.#afterFailure(look, all[0].error, all) : outcome;
  }

  #truthOf(key: string): ObservedAddress {
    const { view, range } = this.#deps;
    const truth = view.observe(key);
    return {
      ...truth,
      isTaken: (at) => this.#writes.isTaken(at, key) || truth.isTaken(at),
      canHave: (address) => truth.canHave(address) || range.canHave(key, address),
    };
  }

  /** An address for a key that has none: of our own range, or at least the prospect of one. */
  async #provide(look: Look): Promise<AddressShortage | undefined> {
    const { range, supply } = this.#deps;
    const truth = this.#truthOf(look.key);
    if (truth.ports.length === 0) return undefined;
    const plan = planAddress(truth);
    const isGiven = plan.address !== undefined && truth.poolAddress === undefined && !range.isInRange(plan.address);
    if (range.ranges.length === 0 || isGiven)
      return plan.address === undefined && plan.wanted.length === 0 ? supply.shortage() : undefined;
    const lack = truth.poolAddress === undefined ? supply.shortage() : undefined;
    // The one that its Services request is theirs, however few are left.
    if (lack && !(lack.type === "PoolExhausted" && plan.address !== undefined)) return lack;
    const address = await range.ensure(look.key, truth, look);
    return address === undefined ? exhausted() : undefined;
  }

  async #over(key: string, signal: AbortSignal): Promise<Outcome> {
    this.withoutAddress.delete(key);
    this.awaitingAssignment.delete(key);
    this.#cleaning.delete(key);
    await this.#deps.range.release(key, signal);
    return done();
  }

  async #write(truth: ObservedAddress, plan: AddressPlan, mayCome: boolean, turn: WriteTurn): Promise<Written> {
    const poolOf = truth.poolAddress === undefined ? this.#deps.supply.poolFor : () => undefined;
    // Without an address to be had, existing Services are still kept up to date.
    const wanted = mayCome ? plan.wanted : plan.wanted.filter(({ live }) => live !== undefined);
    const written = await this.#writes.apply(wanted, poolOf, turn);
    const first = await this.#writes.apply(mayCome ? plan.firsts : [], poolOf, turn, "first");
    return { applied: [...written.applied, ...first.applied], failures: [...written.failures, ...first.failures] };
  }

  /** MetalLB would give them the next free address, which may be one that its tenant gives up for an instant. */
  #dropPending(key: string, { truth, plan, short }: Standing, signal: AbortSignal): Promise<Failure[]> {
    const isFull = short?.type === "PoolExhausted" && plan.address === undefined;
    const isPending = ({ deleting, addresses, ours }: OwnBalancer) =>
      !deleting && addresses.length === 0 && ours.pin === "";
    return this.#writes.dropPending(key, isFull ? truth.balancers.filter(isPending) : [], signal);
  }

  #isCleanUpLate(key: string, truth: ObservedAddress, plan: AddressPlan): boolean {
    const { clock } = this.#deps;
    if (isClean(truth, plan)) this.#cleaning.delete(key);
    else this.#cleaning.set(key, this.#cleaning.get(key) ?? clock.monotonicMs());
    return clock.monotonicMs() - (this.#cleaning.get(key) ?? clock.monotonicMs()) > addressCleanUpMs;
  }

  #rejections(key: string): Condition[] {
    const { view } = this.#deps;
    const rejected = [...view.declared.by("key", key)].flatMap(({ resource, rejection: why }) =>
      why === undefined ? [] : [condition("Refused", why, { subject: resource })],
    );
    const double = view.portsOf(key).double.map(({ resource, protocol, externalPort }) => {
      const message = `another resource asks for ${protocol} ${externalPort} of the same address`;
      return condition("Refused", message, { subject: resource });
    });
    return [...rejected, ...double];
  }

  /** As it is by now: what was written may have its address already. */
  #standingOf(
    key: string,
    lack: AddressShortage | undefined,
    isPoolGoing: boolean,
    failures: readonly Failure[],
  ): Standing {
    const { supply, ignored } = this.#deps;
    const truth = this.#truthOf(key);
    const plan = planAddress(truth);
    const addressed = plan.wanted.flatMap(({ port, live }) => (live && live.addresses.length > 0 ? port : []));
    const failing = new Set(failures.map(({ lease }) => formatLeaseId(lease)));
    const pending = truth.ports.filter((port) => !addressed.includes(port) && !failing.has(formatLeaseId(port.lease)));
    const isLacking = pending.length > 0 && plan.address === undefined && !isPoolGoing;
    for (const { lease } of addressed) if (!failing.has(formatLeaseId(lease))) ignored.succeeded(lease, key);
    return { truth, plan, pending, short: lack ?? (isLacking ? supply.shortage() : undefined) };
  }

  #outcomeOf({ key, note }: Look, { truth, plan, pending, short }: Standing, isLate: boolean): Outcome {
    const { ignored, log } = this.#deps;
    this.awaitingAssignment.delete(key);
    if (short && truth.ports.length > 0) {
      const { message } = short.error;
      this.withoutAddress.add(key);
      note(short.type, message);
      for (const lease of leasesOf(pending)) ignored.failed(lease, short.error, key);
      log.info("no address available", { key, reason: message });
      return waiting("address", message);
    }
    this.withoutAddress.delete(key);
    if (isLate) return stalled("what nothing asks for any more does not go");
    const isPending = pending.length > 0;
    if (!isPending && isClean(truth, plan)) return done();
    if (isPending && plan.address === undefined) this.awaitingAssignment.add(key);
    if (isPending) note("AddressPending", `MetalLB has not given ${plan.address ?? "an address"} yet`);
    // Whatever happens next to these Services wakes it.
    return waiting("MetalLB", isPending ? "the address was not given yet" : "what is not asked for goes");
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

/** As the network's operator does: putting it right would take an address from a tenant. */
function noteDiffering({ wanted }: AddressPlan, { note }: Look): void {
  const addresses = new Set(wanted.flatMap(({ live }) => live?.addresses ?? []));
  if (addresses.size > 1) note("AddressesDiffer", `its ports are on ${[...addresses].join(" and ")}`);
}

function cleanUpText({ balancers }: ObservedAddress, { removed, kept }: AddressPlan): string {
  const left = balancers.filter((each) => each.deleting || removed.includes(each) || kept.includes(each));
  return `${left.map((each) => objectText(kinds.service, each)).join(", ")} should have gone long ago`;
}
