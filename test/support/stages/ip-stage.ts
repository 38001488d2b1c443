/**
 * A simulated cluster with a played MetalLB and the IP operator, on the virtual clock. ProviderLeasedIPs are written as a
 * provider writes them; the operator can be killed at any write and started again.
 */

import { createSimulatedCluster } from "../../../src/box/cluster/simulated-kube.ts";
import { metalLbDefinitions } from "../../../src/box/metallb/definitions.ts";
import { createMetalLb, type MetalLb } from "../../../src/box/metallb/metallb.ts";
import { readDefinitions } from "../../../src/kube/definitions.ts";
import { fieldsOf, recordsOf } from "../../../src/kube/json-fields.ts";
import { kinds } from "../../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../../src/kube/kube.ts";
import { type IpDeclaration, leasedIp, leasedIpName, sharingKey } from "../../../src/kube/objects/leased-ip.ts";
import { assignedAddresses, metalLbNamespace } from "../../../src/kube/objects/metallb.ts";
import { addressOf } from "../../../src/market/address.ts";
import type { LeaseId } from "../../../src/market/ids.ts";
import { readAddressRange } from "../../../src/market/ip-range.ts";
import { leaseNamespace } from "../../../src/market/lease-namespace.ts";
import { type IpOperatorOptions, type RunningIpOperator, startIpOperator } from "../../../src/operators/ip/operator.ts";
import type { Boundary } from "../../../src/runtime/boundary.ts";
import type { Scope } from "../../../src/runtime/lifecycle.ts";
import { type Log, silentLog } from "../../../src/runtime/log.ts";
import type { Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";
import { createVirtualClock } from "../virtual-clock.ts";

export const manifestNamespace = "lease";
export const provider = addressOf(new Uint8Array(20).fill(200));

export function leaseOf(owner: number, dseq = owner): LeaseId {
  return { owner: addressOf(new Uint8Array(20).fill(owner)), dseq: BigInt(dseq), gseq: 1, oseq: 1, provider, bseq: 0 };
}

export interface PortWanted extends Partial<Omit<IpDeclaration, "lease">> {
  /** What its tenant calls the address. */
  readonly endpoint?: string;
}

export function declarationOf(lease: LeaseId, { endpoint = "blue", ...given }: PortWanted = {}): IpDeclaration {
  const { externalPort = 80, port = 8080, service = "web", protocol = "TCP" } = given;
  return {
    lease,
    service,
    port,
    externalPort,
    protocol,
    sharingKey: given.sharingKey ?? sharingKey(lease.owner, endpoint),
  };
}

export interface IpStageOptions {
  /** Of MetalLB's pool `default`; none where it is empty. */
  readonly pool?: string;
  readonly ranges?: readonly string[];
  /** Of the API server's own Service, by which the family of all others is known. */
  readonly clusterIp?: string;
  /** Without, MetalLB is not there. */
  readonly metalLb?: boolean;
  readonly seed?: number;
  readonly log?: Log;
  readonly operator?: Partial<IpOperatorOptions>;
}

export type IpStage = Awaited<ReturnType<typeof openIpStage>>;

export async function openIpStage(owner: Owner, options: IpStageOptions = {}) {
  const {
    pool = "172.30.0.200-172.30.0.203",
    ranges = [],
    clusterIp,
    metalLb = true,
    seed = 1,
    log = silentLog,
  } = options;
  const clock = createVirtualClock();
  const cluster = createSimulatedCluster({}, { clock, random: createSeededRandom(seed), log: silentLog });
  for (const definition of readDefinitions()) cluster.server.create(kinds.customResourceDefinition, definition, "test");
  for (const name of [manifestNamespace, metalLbNamespace])
    cluster.server.create(kinds.namespace, { metadata: { name } }, "test");

  let played: { readonly metalLb: MetalLb; stop(): Promise<void> } | undefined;

  /** MetalLB comes, with its definitions; they stay when it goes. */
  function bringMetalLb(): MetalLb {
    if (!cluster.server.get(kinds.customResourceDefinition, { name: "ipaddresspools.metallb.io" }))
      for (const each of metalLbDefinitions()) cluster.server.create(kinds.customResourceDefinition, each, "test");
    const kube = cluster.connect("metallb-controller");
    const playing = createMetalLb({ kube, clock, random: createSeededRandom(seed + 1), log: silentLog });
    const stopping = new AbortController();
    const ended = playing.run(stopping.signal);
    const stop = async () => {
      stopping.abort();
      const closing = kube.close();
      await clock.advance(0);
      await Promise.all([closing, ended]);
    };
    played = { metalLb: playing, stop };
    return playing;
  }

  function setPool(name: string, addresses: readonly string[], more: Readonly<Record<string, unknown>> = {}): void {
    const object = { metadata: { name, namespace: metalLbNamespace }, spec: { addresses: [...addresses], ...more } };
    const live = cluster.server.get(kinds.ipAddressPool, object.metadata);
    if (live)
      cluster.server.update(
        kinds.ipAddressPool,
        { ...live, spec: { ...fieldsOf(live["spec"]), ...object.spec } },
        "admin",
      );
    else cluster.server.create(kinds.ipAddressPool, object, "admin");
  }

  function setClusterIp(clusterIP: string): void {
    const at = { name: "kubernetes", namespace: "default" };
    if (!cluster.server.get(kinds.namespace, { name: at.namespace }))
      cluster.server.create(kinds.namespace, { metadata: { name: at.namespace } }, "test");
    if (cluster.server.get(kinds.service, at)) cluster.server.delete(kinds.service, at);
    const ipFamilies = [clusterIP.includes(":") ? "IPv6" : "IPv4"];
    const spec = { clusterIP, clusterIPs: [clusterIP], ipFamilies, ports: [{ port: 443 }] };
    cluster.server.create(kinds.service, { metadata: at, spec }, "test");
  }

  function namespaceOf(lease: LeaseId): string {
    const name = leaseNamespace(lease);
    if (!cluster.server.get(kinds.namespace, { name }))
      cluster.server.create(kinds.namespace, { metadata: { name } }, "provider");
    return name;
  }

  /** As a provider does. */
  function declare(lease: LeaseId, wanted: PortWanted = {}): IpDeclaration {
    namespaceOf(lease);
    const declaration = declarationOf(lease, wanted);
    const { object } = leasedIp(declaration, { manifestNamespace });
    const live = cluster.server.get(kinds.providerLeasedIp, object.metadata);
    if (live)
      cluster.server.update(
        kinds.providerLeasedIp,
        { ...object, metadata: { ...live.metadata, ...object.metadata } },
        "provider",
      );
    else cluster.server.create(kinds.providerLeasedIp, object, "provider");
    return declaration;
  }

  function withdraw(lease: LeaseId, wanted: PortWanted = {}): void {
    const at = { namespace: manifestNamespace, name: leasedIpName(declarationOf(lease, wanted)) };
    cluster.server.delete(kinds.providerLeasedIp, at);
  }

  let settings: IpOperatorOptions = {
    provider,
    manifestNamespace,
    pool: "default",
    ranges: ranges.map(readAddressRange),
    metalLb: undefined,
    retryDelayMs: 3_000,
    pruneIntervalMs: 600_000,
    ignoreList: { failureLimit: 3, entryLimit: 1_000, ageLimitMs: 726 * 3_600_000 },
    instance: "operator-ip-0",
    ...options.operator,
  };
  type Leading = Parameters<typeof startIpOperator>[1]["leadership"];
  const alone: Leading = { leading: true, run: (signal, lead) => lead(signal) };

  function startOperator(boundary?: Boundary, leadership: (kube: Kube) => Leading = () => alone): Life {
    const kube = cluster.connect("akash-operator-ip", boundary && { boundary });
    const stopping = new AbortController();
    const endings: (() => unknown)[] = [];
    const tasks: Promise<void>[] = [];
    const scope: Scope = {
      signal: stopping.signal,
      // As a lifecycle has it: what a task rejects with once it is to stop is its end.
      task: (_, work) =>
        void tasks.push(
          work(stopping.signal).catch((thrown) => {
            if (thrown !== stopping.signal.reason) throw thrown;
          }),
        ),
      onStop: (end) => void endings.unshift(end),
    };
    const deps = { kube, clock, random: createSeededRandom(seed + 2), log, leadership: leadership(kube) };
    const operator = startIpOperator(settings, deps, scope);
    return {
      kube,
      operator,
      async stop() {
        stopping.abort();
        const closing = kube.close();
        await clock.advance(0);
        await Promise.allSettled([closing, ...tasks]);
        for (const end of endings) await end();
      },
    };
  }

  if (clusterIp !== undefined) setClusterIp(clusterIp);
  if (metalLb) bringMetalLb();
  // Its pod is ready before the operator looks.
  await clock.advance(100);
  if (metalLb && pool !== "") setPool("default", [pool]);
  let life = startOperator();
  owner.after(async () => {
    await life.stop();
    await played?.stop();
    await cluster.close();
  });

  const services = () =>
    cluster.server.list(kinds.service).filter((each) => fieldsOf(each["spec"])["type"] === "LoadBalancer");

  return {
    clock,
    cluster,
    setPool,
    setClusterIp,
    namespaceOf,
    declare,
    withdraw,
    bringMetalLb,
    startOperator,
    get metalLb(): MetalLb | undefined {
      return played?.metalLb;
    },
    /** As the kubelet reports it. */
    setControllerReady(isReady: boolean): void {
      const at = { namespace: metalLbNamespace, name: "controller" };
      const status = { conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] };
      const pod = cluster.server.get(kinds.pod, at);
      if (pod) cluster.server.updateStatus(kinds.pod, { ...pod, status }, "kubelet");
    },
    /** Its process ends, and its pod stays ready. */
    async removeMetalLb() {
      await played?.stop();
      played = undefined;
    },
    get life(): Life {
      return life;
    },
    get operator(): RunningIpOperator {
      return life.operator;
    },
    /** Ends the operator, if it is still there, and starts another one. */
    async restart(boundary?: Boundary, changed: Partial<IpOperatorOptions> = {}): Promise<void> {
      await life.stop();
      settings = { ...settings, ...changed };
      life = startOperator(boundary);
    },
    services,
    /** "blue TCP 80 → web:8080 of 1 at 172.30.0.200", of every Service, sorted. */
    shown: (): string[] => services().map(shownService).sort(),
    /** Until nothing happens any more: longer than the queue pauses after a failure or two. */
    settled: (ms = 5_000) => clock.advance(ms),
  };
}

interface Life {
  readonly kube: Kube;
  readonly operator: RunningIpOperator;
  stop(): Promise<void>;
}

export function shownService(service: KubeObject): string {
  const { labels = {}, annotations = {} } = service.metadata;
  const { ports, selector } = fieldsOf(service["spec"]);
  const [{ port, targetPort, protocol } = {}] = recordsOf(ports);
  const endpoint = String(annotations["metallb.universe.tf/allow-shared-ip"]).replace(/^.*-ip-/, "");
  const name = fieldsOf(selector)["akash.network/manifest-service"];
  const dseq = labels["akash.network/lease.id.dseq"];
  const [address = "none"] = assignedAddresses(service);
  return `${endpoint} ${protocol} ${port} → ${name}:${targetPort} of ${dseq} at ${address}`;
}
