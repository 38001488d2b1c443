/** What is to be done about one address: a decision on what is known, without doing anything. */

import { invariant } from "../../runtime/invariant.ts";
import { type AddressPort, type Balancer, namesFor, type OwnBalancer, pathOf } from "./objects.ts";

export interface ObservedAddress {
  /** Those that are asked for, each port of a protocol once, in the order of their names. */
  readonly ports: readonly AddressPort[];
  /** The Services of this address, the oldest first. */
  readonly balancers: readonly OwnBalancer[];
  /** Of the pool that was made for it, where there is one. */
  readonly poolAddress: string | undefined;
  /** Whether a Service of that name is there, or to come, and not for this address. */
  readonly isTaken: (at: { readonly namespace: string; readonly name: string }) => boolean;
  /** Whether an address is in a pool and nobody else has it. */
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
  /** Any one of these, to get an address: the first that can be written, as one lease's trouble is not another's. */
  readonly firsts: readonly PlannedBalancer[];
  /** Nothing asks for them any more. */
  readonly removed: readonly OwnBalancer[];
  /** Nor for these, but they hold the address until another does. */
  readonly kept: readonly OwnBalancer[];
}

export function planAddress(truth: ObservedAddress): AddressPlan {
  const { ports, balancers, poolAddress, canHave } = truth;
  const address = poolAddress ?? addressOf(truth);
  const there = new Map(balancers.map((each) => [pathOf(each), each]));
  const planned = ports.map((port): PlannedBalancer => {
    const name = nameFor(port, truth, there);
    const live = there.get(pathOf({ namespace: port.namespace, name }));
    return { port, name, live, pin: pinFor(live, { address, isFixed: poolAddress !== undefined, canHave }) };
  });
  const existing = planned.filter(({ live }) => live !== undefined && !live.deleting);
  const missing = planned.filter(({ live }) => live === undefined);
  // The first gets an address, whichever; then the others ask for that one.
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

/** The one that its Services have, or ask for; of one that goes too: it has it until it is gone. */
function addressOf({ balancers, ports, canHave }: ObservedAddress): string | undefined {
  const isWanted = (each: Balancer) => ports.some(({ namespace }) => namespace === each.namespace);
  const inOrder = [
    ...balancers.filter((each) => !each.deleting && isWanted(each)),
    ...balancers.filter((each) => !each.deleting && !isWanted(each)),
    ...balancers.filter((each) => each.deleting),
  ];
  const had = inOrder.flatMap(({ addresses }) => addresses);
  const asked = inOrder.flatMap(({ ours: { pin } }) => pin || []);
  return [...had, ...asked].find(canHave);
}

interface PinRules {
  readonly address: string | undefined;
  /** It follows from a pool of ours, and not from what MetalLB chose. */
  readonly isFixed: boolean;
  readonly canHave: (address: string) => boolean;
}

/** One that MetalLB gave stays as it is written, pinned or not: a write without need is one too many. */
function pinFor(live: OwnBalancer | undefined, { address, isFixed, canHave }: PinRules): string | undefined {
  if (isFixed || !live) return address;
  if (live.addresses.length > 0) return live.ours.pin || undefined;
  // What it asks for is another's by now, or in no pool: any other is better than none.
  return canHave(live.ours.pin) ? live.ours.pin : address;
}

/** Names among which one that it has is looked for; nobody takes so many but to see what happens. */
const namesKept = 4;

function nameFor(port: AddressPort, { isTaken }: ObservedAddress, there: ReadonlyMap<string, OwnBalancer>): string {
  const { namespace } = port;
  const own = [...namesFor(port).take(namesKept)].flatMap((name) => there.get(pathOf({ namespace, name })) ?? []);
  // The one that has the address, before the one that has its name by right.
  const [kept] = own
    .filter(({ deleting, isTenants }) => !deleting && !isTenants)
    .sort((a, b) => b.addresses.length - a.addresses.length);
  const name = kept?.name ?? namesFor(port).find((each) => !isTaken({ namespace, name: each }));
  invariant(name !== undefined, "there are names without end");
  return name;
}
