/** The plan for one address: pure. */

import { invariant } from "../../runtime/invariant.ts";
import { type AddressPort, type Balancer, namesFor, type OwnBalancer, pathOf } from "./objects.ts";

export interface ObservedAddress {
  /** Requested ports, each of a protocol once, in the order of their names. */
  readonly ports: readonly AddressPort[];
  /** The Services of this address, the oldest first. */
  readonly balancers: readonly OwnBalancer[];
  /** Of the pool that was made for it, where there is one. */
  readonly poolAddress: string | undefined;
  /** Whether a Service of that name exists or is planned, and is not for this address. */
  readonly isTaken: (at: { readonly namespace: string; readonly name: string }) => boolean;
  /** Whether an address is in a pool and not in use by another key. */
  readonly canHave: (address: string) => boolean;
}

export interface PlannedBalancer {
  readonly port: AddressPort;
  readonly name: string;
  readonly pin: string | undefined;
  readonly live: OwnBalancer | undefined;
}

export interface AddressPlan {
  readonly address: string | undefined;
  /** To be as they are here. Other ports wait until the address is known, or until an old Service of their name is gone. */
  readonly wanted: readonly PlannedBalancer[];
  /** Any one of these, to get an address: the first that can be written, as leases fail independently. */
  readonly firsts: readonly PlannedBalancer[];
  /** No longer requested. */
  readonly removed: readonly OwnBalancer[];
  /** No longer requested, but they hold the address until another Service does. */
  readonly kept: readonly OwnBalancer[];
}

export function planAddress(observed: ObservedAddress): AddressPlan {
  const { ports, balancers, poolAddress } = observed;
  const address = poolAddress ?? addressOf(observed);
  const there = new Map(balancers.map((each) => [pathOf(each), each]));
  const planned = ports.map((port): PlannedBalancer => {
    const name = nameFor(port, observed, there);
    const live = there.get(pathOf({ namespace: port.namespace, name }));
    return { port, name, live, pin: pinFor(live, address, observed) };
  });
  const existing = planned.filter(({ live }) => live !== undefined && !live.deleting);
  const missing = planned.filter(({ live }) => live === undefined);
  // The first one gets any address; then the others request that one.
  const isKnown = address !== undefined;
  const wanted = isKnown ? [...existing, ...missing] : existing;
  const firsts = isKnown || existing.length > 0 ? [] : missing;
  const places = new Set(planned.map(({ port, name }) => pathOf({ namespace: port.namespace, name })));
  const unwanted = balancers.filter((each) => !each.deleting && !places.has(pathOf(each)));
  const isHeld = existing.some(({ live }) => address !== undefined && live?.addresses.includes(address));
  const isInTheWay = (each: OwnBalancer) => ports.some((port) => isOfPort(each, port));
  const mayGo = (each: OwnBalancer) =>
    ports.length === 0 || isHeld || poolAddress !== undefined || each.addresses.length === 0 || isInTheWay(each);
  return {
    address,
    wanted,
    firsts,
    removed: unwanted.filter(mayGo),
    kept: unwanted.filter((each) => !mayGo(each)),
  };
}

/** Whether it serves the same port of the address, for whichever lease and service: MetalLB lets one of them have it. */
export function isOfPort({ ours }: OwnBalancer, { protocol, externalPort }: AddressPort): boolean {
  return ours.protocol === protocol && ours.externalPort === externalPort;
}

/** The one that its Services have, or request; a Service that is being deleted still has it. */
function addressOf({ balancers, ports, canHave }: ObservedAddress): string | undefined {
  const isWanted = (each: Balancer) => ports.some(({ namespace }) => namespace === each.namespace);
  const inOrder = [
    ...balancers.filter((each) => !each.deleting && isWanted(each)),
    ...balancers.filter((each) => !each.deleting && !isWanted(each)),
    ...balancers.filter((each) => each.deleting),
  ];
  const had = inOrder.flatMap(({ addresses }) => addresses);
  const requested = inOrder.flatMap(({ ours: { pin } }) => pin || []);
  return [...had, ...requested].find(canHave);
}

/** One that MetalLB gave stays as it is written, pinned or not: a write without need is one too many. */
function pinFor(live: OwnBalancer | undefined, address: string | undefined, { poolAddress, canHave }: ObservedAddress) {
  if (poolAddress !== undefined || !live) return address;
  if (live.addresses.length > 0) return live.ours.pin || undefined;
  // The requested one is in use by another key, or in no pool: any other is better than none.
  return canHave(live.ours.pin) ? live.ours.pin : address;
}

/** Names among which an existing Service is looked for. */
const namesKept = 4;

function nameFor(port: AddressPort, { isTaken }: ObservedAddress, there: ReadonlyMap<string, OwnBalancer>): string {
  const { namespace } = port;
  const own = [...namesFor(port).take(namesKept)].flatMap((name) => there.get(pathOf({ namespace, name })) ?? []);
  // The one that has the address, before the one that has its name by right.
  const [kept] = own
    .filter(({ deleting, isTenants }) => !deleting && !isTenants)
    .sort((a, b) => b.addresses.length - a.addresses.length);
  const name = kept?.name ?? namesFor(port).find((each) => !isTaken({ namespace, name: each }));
  invariant(name !== undefined, "there are endless names");
  return name;
}
