/**
 * Leases that declare host names and addresses in a simulated cluster. What each wants is kept here, as the journal keeps
 * manifests; a process with a loop like that of leases brings it about, and can be killed and started again.
 */
import { createSimulatedCluster, type SimulatedCluster } from "../../../src/box/cluster/simulated-kube.ts";
import { type AddressWanted, addressesWanted } from "../../../src/cluster/capacity/addresses/lease-addresses.ts";
import {
  createHostnames,
  type HostnameSettings,
  type Hostnames,
  type HostWanted,
  hostsWanted,
} from "../../../src/cluster/leases/declarations/hostnames.ts";
import {
  createLeasedAddresses,
  type LeasedAddresses,
} from "../../../src/cluster/leases/declarations/leased-addresses.ts";
import { readDefinitions } from "../../../src/kube/definitions.ts";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { addressOf } from "../../../src/market/address.ts";
import { formatLeaseId, type LeaseId, parseLeaseId } from "../../../src/market/ids.ts";
import type { ManifestExpose, ManifestGroup } from "../../../src/market/manifest.ts";
import type { Boundary } from "../../../src/runtime/boundary.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import { done } from "../../../src/runtime/outcome.ts";
import { createQueue } from "../../../src/runtime/queue.ts";
import type { Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";

export const manifestNamespace = "lease";
export const provider = addressOf(new Uint8Array(20).fill(200));

export function leaseOf(owner: number, dseq: number): LeaseId {
  return { owner: addressOf(new Uint8Array(20).fill(owner)), dseq: BigInt(dseq), gseq: 1, oseq: 1, provider, bseq: 0 };
}

export interface DeclarationStage {
  readonly clock: VirtualClock;
  readonly cluster: SimulatedCluster;
  /** Of the process that runs now. */
  readonly hostnames: Hostnames;
  readonly addresses: LeasedAddresses;
  readonly kube: Kube;
  /** What a lease wants from now on, and its loop is woken; undefined when it is closed. */
  want(lease: LeaseId, group: ManifestGroup | undefined): void;
  wanted(lease: LeaseId): { readonly hosts: HostWanted[]; readonly addresses: AddressWanted[] };
  /** Until nothing happens any more. */
  settled(ms?: number): Promise<void>;
  /** Ends the process, if it is still there, and starts another one. */
  restart(boundary?: Boundary): Promise<void>;
  objects(kind: typeof kinds.providerHost | typeof kinds.providerLeasedIp): KubeObject[];
}

const plain: HostnameSettings = {
  manifestNamespace,
  blockedHosts: [],
  ingressDomain: undefined,
  publicHost: undefined,
};

export async function openStage(
  owner: Owner,
  given: Partial<HostnameSettings> & { readonly staticHosts?: boolean } = {},
  boundary?: Boundary,
): Promise<DeclarationStage> {
  const settings = { ...plain, ...given };
  const staticHostDomain = given.staticHosts ? settings.ingressDomain : undefined;
  const clock = createVirtualClock();
  const cluster = createSimulatedCluster({}, { clock, random: createSeededRandom(1), log: silentLog });
  owner.after(() => cluster.close());
  for (const definition of readDefinitions()) cluster.server.create(kinds.customResourceDefinition, definition, "test");
  cluster.server.create(kinds.namespace, { metadata: { name: manifestNamespace } }, "test");

  const wants = new Map<string, ManifestGroup | undefined>();
  let running = await start(boundary);
  owner.after(() => running.stop());

  async function start(crossing?: Boundary) {
    const kube = cluster.connect("akash-provider", crossing && { boundary: crossing });
    const hostnames = createHostnames({ kube, provider, settings, clock });
    const addresses = createLeasedAddresses(kube, provider, manifestNamespace);
    const stopping = new AbortController();
    const { signal } = stopping;
    const scope = { signal, task: () => undefined, onStop: () => undefined };
    hostnames.open(scope);
    addresses.open(scope);
    for (let turn = 0; turn < 100 && (hostnames.error ?? addresses.error) !== undefined; turn++) await clock.advance(0);
    const queue = createQueue({ name: "leases", work: look, clock, random: createSeededRandom(2), log: silentLog });
    hostnames.onChange((leaseId) => void queue.add(leaseId));
    addresses.onChange((leaseId) => void queue.add(leaseId));
    for (const leaseId of wants.keys()) queue.add(leaseId);
    const ended = queue.run(signal).catch(() => undefined);

    async function look(leaseId: string) {
      const lease = parseLeaseId(leaseId);
      const { hosts, addresses: ports } = wanted(lease);
      if (wants.get(leaseId) === undefined) {
        await hostnames.release(lease, signal);
        await addresses.release(lease, signal);
      } else {
        await hostnames.declare(lease, hosts, signal);
        await addresses.declare(lease, ports, signal);
      }
      return done();
    }

    return {
      kube,
      hostnames,
      addresses,
      queue,
      async stop() {
        stopping.abort();
        const closing = kube.close();
        await clock.advance(0);
        await Promise.all([closing, ended]);
      },
    };
  }

  function wanted(lease: LeaseId) {
    const group = wants.get(formatLeaseId(lease)) ?? { name: "g", services: [] };
    return { hosts: hostsWanted({ lease, group }, { staticHostDomain }), addresses: addressesWanted({ lease, group }) };
  }

  return {
    clock,
    cluster,
    get hostnames() {
      return running.hostnames;
    },
    get addresses() {
      return running.addresses;
    },
    get kube() {
      return running.kube;
    },
    want(lease, group) {
      wants.set(formatLeaseId(lease), group);
      running.queue.add(formatLeaseId(lease));
    },
    wanted,
    // Longer than the queue pauses after a failure or two.
    settled: (ms = 5_000) => clock.advance(ms),
    async restart(crossing) {
      await running.stop();
      running = await start(crossing);
    },
    objects: (kind) => [...cluster.server.list(kind)],
  };
}

export function groupOf(...expose: Partial<ManifestExpose>[]): ManifestGroup {
  const httpOptions = { maxBodySize: 0, readTimeout: 0, sendTimeout: 0, nextTries: 0, nextTimeout: 0 };
  const base = {
    port: 8080,
    externalPort: 80,
    proto: "TCP",
    service: "",
    global: true,
    hosts: null,
    httpOptions,
  } as const;
  const amount = { val: "1" };
  const resources = { id: 1, cpu: { units: amount }, memory: { size: amount }, gpu: { units: amount }, endpoints: [] };
  return {
    name: "g",
    services: [
      {
        name: "web",
        image: "nginx:1.27",
        command: null,
        args: null,
        env: null,
        resources,
        count: 1,
        expose: expose.map((each) => ({ ...base, ip: "", endpointSequenceNumber: 0, ...each })),
        credentials: null,
      },
    ],
  };
}

export function hosts(...names: string[]): ManifestGroup {
  return groupOf({ hosts: names });
}
