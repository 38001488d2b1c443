/** The machines under the nodes: what a kubelet has of its own, which no object tells. */
import { invariant } from "../../../runtime/invariant.ts";

export interface Machine {
  readonly name: string;
  readonly hostIp: string;
  /** The network of its pods: "10.244.3.0/24". */
  readonly podCidr: string;
  readonly images: Set<string>;
  takeIp(): string;
  giveBackIp(ip: string): void;
}

/** Addresses of one /24 without the network, the bridge and the broadcast. */
const firstHost = 2;
const lastHost = 254;
/** More pods would need a larger network. Real nodes take 110. */
export const mostPods = lastHost - firstHost + 1;
/** Pod networks from 10.244.0.0 to 10.255.255.0. */
const mostMachines = 12 * 256;

export interface Machines {
  add(name: string): Machine;
  get(name: string): Machine | undefined;
  remove(name: string): void;
}

export function createMachines(): Machines {
  const machines = new Map<string, Machine>();
  const places = new Map<string, number>();

  function freePlace(): number {
    const taken = new Set(places.values());
    let place = 0;
    while (taken.has(place)) place += 1;
    invariant(place < mostMachines, "there are no more addresses for machines", { machines: machines.size });
    return place;
  }

  return {
    add(name) {
      invariant(!machines.has(name), "a machine is added once", { name });
      const place = freePlace();
      places.set(name, place);
      const machine = createMachine(name, place);
      machines.set(name, machine);
      return machine;
    },
    get: (name) => machines.get(name),
    remove(name) {
      machines.delete(name);
      places.delete(name);
    },
  };
}

function createMachine(name: string, index: number): Machine {
  const network = `10.${244 + (index >> 8)}.${index & 255}`;
  const taken = new Set<number>();
  let last = firstHost - 1;
  return {
    name,
    hostIp: `192.168.${10 + Math.floor(index / 250)}.${(index % 250) + 1}`,
    podCidr: `${network}.0/24`,
    images: new Set(),
    /** The next free one in turn, so that an address is not used again at once. */
    takeIp() {
      invariant(taken.size < mostPods, "a node has more pods than addresses", { name });
      do last = last >= lastHost ? firstHost : last + 1;
      while (taken.has(last));
      taken.add(last);
      return `${network}.${last}`;
    },
    giveBackIp: (ip) => void taken.delete(Number(ip.split(".")[3])),
  };
}
