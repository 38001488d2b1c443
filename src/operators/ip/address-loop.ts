/** The loop of one address: all ports of a sharing key together, from the resources that ask for them to Services and back. */
import { kinds, objectText } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { leasedIpName } from "../../kube/objects/leased-ip.ts";
import type { Address } from "../../market/address.ts";
import type { LeaseId } from "../../market/ids.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { done, failed, type Outcome, recheck, stalled, waiting } from "../../runtime/outcome.ts";
import type { IgnoreList } from "../ignore-list.ts";
import { desiredBalancer, isForPort, type OwnBalancer, placeOf } from "./balancer.ts";
import type { Condition, ConditionType } from "./condition.ts";
import { type LeasedPort, readDeclaredPort } from "./leased-port.ts";
import { type OwnRange, shown } from "./own-range.ts";
import { type AddressPlan, type AddressTruth, type PlannedBalancer, planAddress } from "./plan.ts";
import { exhausted, type Shortage, type Supply } from "./supply.ts";
import type { IpView } from "./view.ts";

interface AddressLoopOptions {
  readonly provider: Address;
  readonly manifestNamespace: string;
  readonly retryDelayMs: number;
}

interface AddressLoopDeps {
  readonly kube: Pick<Kube, "get" | "apply" | "delete">;
  readonly view: IpView;
  /** Where the addresses are of a range that is ours; an empty one where all are MetalLB's to give. */
  readonly range: OwnRange;
  readonly supply: Pick<Supply, "poolFor" | "shortage">;
  readonly ignored: IgnoreList;
  /** How an address stands after a look; nothing once there is nothing to tell. */
  readonly tell: (key: string, conditions: readonly Condition[], ports: readonly LeasedPort[]) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export function createAddressLoop(options: AddressLoopOptions, deps: AddressLoopDeps) {
  const { kube, view, range, supply, ignored, tell, clock, log } = deps;
  /** Since when something of an address is to be gone. */
  const cleaning = new Map<string, number>();
  /** Names of Services that are being written, and for which key: the cache does not show them yet. */
  const writing = new Map<string, string>();
  /** Keys that have no address because there was none. */
  const without = new Set<string>();

  async function look(key: string, signal: AbortSignal): Promise<Outcome> {
    const trouble = view.trouble;
    if (trouble !== undefined) return waiting("cluster", trouble);
    const conditions = refusals(key);
    const { ports } = view.portsOf(key);
    ignored.forget(key, leasesOf(ports));
    const note: Note = (type, message) => void conditions.push({ type, subject: key, message });
    try {
      return await settle(key, note, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      return afterFailure(key, ports, ProviderError.from(thrown), note);
    } finally {
      tell(key, conditions, ports);
    }
  }

  function afterFailure(key: string, ports: readonly LeasedPort[], error: ProviderError, note: Note): Outcome {
    note("Failed", error.message);
    const isListed = ports.some(({ lease }) => ignored.isFlagged(lease));
    for (const lease of leasesOf(ports)) ignored.failed(lease, error, key);
    if (isListed) return failed(error);
    log.error("address not settled, trying again", { key, error });
    return recheck(options.retryDelayMs);
  }

  async function settle(key: string, note: Note, signal: AbortSignal): Promise<Outcome> {
    // It would lend its name to a new one only to go with it.
    if (view.ownPoolOf(key)?.deleting && view.portsOf(key).ports.length > 0)
      return waiting("MetalLB", "the pool from before is being deleted");
    const lack = await provide(key, signal);
    const truth = truthOf(key);
    if (truth.ports.length === 0 && truth.balancers.length === 0) return over(key, signal);
    const plan = planAddress(truth);
    const isLate = isCleanUpLate(key, truth, plan);
    if (isLate) note("CleanUpFailed", cleanUpText(truth, plan));
    differing(plan, note);
    // Without an address to be had, what is there already is still kept up to date.
    const wanted = lack ? plan.wanted.filter(({ live }) => live !== undefined) : plan.wanted;
    const failures = await applyAll(wanted, truth.poolAddress === undefined ? supply.poolFor : () => undefined, signal);
    const applied = wanted.filter((each) => !failures.has(each));
    // Nobody who could take the address over has come.
    const removed = isLate ? [...plan.removed, ...plan.kept] : plan.removed;
    await removeAll(key, removed, applied, signal);
    for (const [{ port }, error] of failures) return afterFailure(key, [port], error, note);
    return outcomeOf(key, { truth, plan, lack, isLate }, note);
  }

  function truthOf(key: string): AddressTruth {
    const truth = view.truth(key);
    return {
      ...truth,
      isTaken: (at) => (writing.get(placeOf(at)) ?? key) !== key || truth.isTaken(at),
      canHave: (address) => truth.canHave(address) || range.canHave(key, address),
    };
  }

  /** An address for a key that has none: of our own range, or at least the prospect of one. */
  async function provide(key: string, signal: AbortSignal): Promise<Shortage | undefined> {
    const truth = truthOf(key);
    if (truth.ports.length === 0) return undefined;
    const plan = planAddress(truth);
    const isGiven = plan.address !== undefined && truth.poolAddress === undefined && !range.isInRange(plan.address);
    if (range.ranges.length === 0 || isGiven) {
      const isPending = plan.wanted.some(({ live }) => live !== undefined);
      return plan.address === undefined && !isPending ? supply.shortage() : undefined;
    }
    const lack = truth.poolAddress === undefined ? supply.shortage() : undefined;
    // The one that its Services ask for is theirs, however few are left.
    if (lack && !(lack.type === "PoolExhausted" && plan.address !== undefined)) return lack;
    const address = await range.ensure(key, truth, signal);
    return address === undefined ? exhausted() : undefined;
  }

  async function over(key: string, signal: AbortSignal): Promise<Outcome> {
    without.delete(key);
    cleaning.delete(key);
    await range.release(key, signal);
    return done();
  }

  async function applyAll(
    wanted: readonly PlannedBalancer[],
    poolOf: Supply["poolFor"],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<PlannedBalancer, ProviderError>> {
    const places = wanted.map(({ port, name }) => placeOf({ namespace: port.namespace, name }));
    for (const [at, { port }] of wanted.entries()) writing.set(places[at] ?? "", port.sharingKey);
    const failures = new Map<PlannedBalancer, ProviderError>();
    for (const each of wanted) {
      try {
        await applyOne(each, poolOf, signal);
      } catch (thrown) {
        // Another lease's namespace may be gone: its ports hold up no other's.
        failures.set(each, ProviderError.from(thrown));
      }
    }
    for (const place of places) writing.delete(place);
    signal.throwIfAborted();
    return failures;
  }

  async function applyOne(
    { port, name, pin, live }: PlannedBalancer,
    poolOf: Supply["poolFor"],
    signal: AbortSignal,
  ): Promise<void> {
    // One that has an address names what it named: another pool would take it away.
    const pool = live && live.addresses.length > 0 ? live.ours.pool || undefined : poolOf(pin);
    const desired = desiredBalancer({ port, name, pin, pool });
    const fields = live?.ours.fields ?? null;
    const { object, written } = await kube.apply(kinds.service, desired, { live: fields, force: true, signal });
    if (written) log.info("leased port written", { service: placeOf(desired.metadata), key: port.sharingKey, pin });
    await shown(view.balancers, object, signal);
  }

  async function removeAll(
    key: string,
    removed: readonly OwnBalancer[],
    applied: readonly PlannedBalancer[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const balancer of removed) {
      const { namespace, name, uid } = balancer;
      // Of two for the same port, one is enough, and keeps the other from the address.
      const isDouble = applied.some(({ port }) => isForPort(balancer, port));
      if (!isDouble && (await isAskedFor(key, balancer, signal))) continue;
      await kube.delete(kinds.service, { namespace, name }, { ...(uid !== undefined && { uid }), signal });
      log.info("leased port removed", { service: placeOf(balancer), key });
    }
  }

  /** Asked of the server itself: nothing is taken from a tenant because a cache is behind. */
  async function isAskedFor(key: string, { namespace, ours }: OwnBalancer, signal: AbortSignal): Promise<boolean> {
    const { externalPort, service } = ours;
    const protocol = ours.protocol === "UDP" ? "UDP" : "TCP";
    const at = {
      namespace: options.manifestNamespace,
      name: leasedIpName({ sharingKey: key, protocol, externalPort }),
    };
    const live = await kube.get(kinds.providerLeasedIp, at, { signal });
    const port = live && readDeclaredPort(live, options.provider).port;
    if (port?.sharingKey !== key || port.protocol !== protocol || port.externalPort !== externalPort) return false;
    return port.namespace === namespace && port.service === service;
  }

  function isCleanUpLate(key: string, { balancers }: AddressTruth, { removed, kept }: AddressPlan): boolean {
    const isClean = removed.length + kept.length === 0 && !balancers.some(({ deleting }) => deleting);
    if (isClean) {
      cleaning.delete(key);
      return false;
    }
    const sinceMs = cleaning.get(key) ?? clock.monotonicMs();
    cleaning.set(key, sinceMs);
    return clock.monotonicMs() - sinceMs > limits.addressCleanUpMs;
  }

  function refusals(key: string): Condition[] {
    const refused = [...view.declared.by("key", key)].flatMap(({ resource, refused: why }) =>
      why === undefined ? [] : [{ type: "Refused" as const, subject: resource, message: why }],
    );
    const double = view.portsOf(key).double.map(({ resource, protocol, externalPort }) => {
      const message = `another resource asks for ${protocol} ${externalPort} of the same address`;
      return { type: "Refused" as const, subject: resource, message };
    });
    return [...refused, ...double];
  }

  function outcomeOf(key: string, { truth, plan, lack, isLate }: Settled, note: Note): Outcome {
    const addressed = plan.wanted.filter(({ live }) => (live?.addresses.length ?? 0) > 0);
    for (const { port } of addressed) ignored.succeeded(port.lease, key);
    const isPending = addressed.length < truth.ports.length;
    const short = lack ?? (isPending && plan.address === undefined ? supply.shortage() : undefined);
    if (short && truth.ports.length > 0) {
      without.add(key);
      note(short.type, short.error.message);
      for (const lease of leasesOf(truth.ports)) ignored.failed(lease, short.error, key);
      log.info("no address available", { key, reason: short.error.message });
      return waiting("address", short.error.message);
    }
    without.delete(key);
    if (isLate) return stalled("what nothing asks for any more does not go");
    const isClean =
      plan.removed.length === 0 && plan.kept.length === 0 && !truth.balancers.some((each) => each.deleting);
    if (!isPending && isClean) return done();
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
  };
}

type Note = (type: ConditionType, message: string) => void;

interface Settled {
  readonly truth: AddressTruth;
  readonly plan: AddressPlan;
  readonly lack: Shortage | undefined;
  readonly isLate: boolean;
}

/** Each once, however many ports it has. */
function leasesOf(ports: readonly LeasedPort[]): Iterable<LeaseId> {
  return new Map(ports.map(({ namespace, lease }) => [namespace, lease])).values();
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
