/** The cluster of the demo: a few machines as a small provider might have them, simulated in this process. */
import { readDefinitions } from "../kube/definitions.ts";
import { kinds } from "../kube/kinds.ts";
import type { Hardware } from "../operators/inventory/hardware.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Service } from "../runtime/lifecycle.ts";
import type { Log } from "../runtime/log.ts";
import type { Random } from "../runtime/random.ts";
import { createSimulatedCluster, type SimulatedCluster } from "./cluster/simulated-kube.ts";
import { demoLog } from "./demo-logs.ts";
import { isMisspelt } from "./wishes.ts";

/** Image of the discovery pods; it is never pulled. */
const image = "akash-provider:demo";
/** Where operators and their discovery pods live, and where the custom resources of leases do. */
export const demoNamespaces = { services: "akash-services", manifests: "lease" } as const;

/** How the inventory operator looks at this cluster. */
export const demoInventory = {
  config: "version: v1\ncluster_storage: [beta3]",
  /** The built-in names of gpus do. */
  registry: undefined,
  registryPeriodMs: 300_000,
  discovery: { namespace: demoNamespaces.services, image: () => image, port: 8081, privileged: true },
  host: "127.0.0.1",
  restPort: 0,
  grpcPort: 0,
  apiTimeoutMs: 3_000,
} as const;

const gi = 2 ** 30;

interface Machine {
  readonly name: string;
  readonly cores: number;
  readonly memoryGi: number;
  readonly diskGi: number;
  readonly cpu: { readonly vendor: string; readonly model: string };
  /** PCI ids, which the registry of gpus turns into names. */
  readonly gpus?: { readonly count: number; readonly deviceId: string };
}

const epyc = { vendor: "AuthenticAMD", model: "AMD EPYC 7763 64-Core Processor" };
const xeon = { vendor: "GenuineIntel", model: "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz" };

const machines: readonly Machine[] = [
  { name: "cpu-1", cores: 64, memoryGi: 256, diskGi: 1_800, cpu: epyc },
  { name: "cpu-2", cores: 64, memoryGi: 256, diskGi: 1_800, cpu: epyc },
  { name: "gpu-1", cores: 32, memoryGi: 128, diskGi: 900, cpu: xeon, gpus: { count: 4, deviceId: "2684" } },
  { name: "gpu-2", cores: 128, memoryGi: 1_024, diskGi: 3_600, cpu: epyc, gpus: { count: 8, deviceId: "2330" } },
];

export function createDemoCluster(deps: {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}): SimulatedCluster {
  const answers = new Map(machines.map((machine) => [machine.name, JSON.stringify(hardwareOf(machine))]));
  const cluster = createSimulatedCluster(
    {
      // Leases last for seconds here.
      metrics: { afterMs: 500 },
      nodes: machines.map(({ name, cores, memoryGi, diskGi, gpus }) => ({
        name,
        cpuMilli: BigInt(cores * 1_000),
        memoryBytes: BigInt(memoryGi * gi),
        ephemeralBytes: BigInt(diskGi * gi),
        ...(gpus && { gpus: { "nvidia.com/gpu": gpus.count } }),
      })),
      behaviour(pulled, { pod, container }) {
        if (isMisspelt(pulled)) return { missing: true };
        if (pulled !== image) return demoLog(container, pod.metadata.name);
        const body = answers.get(pod.spec.nodeName ?? "") ?? "";
        return { http: () => ({ status: 200, body }) };
      },
    },
    deps,
  );
  const { server } = cluster;
  for (const definition of readDefinitions()) server.create(kinds.customResourceDefinition, definition, "demo");
  for (const name of Object.values(demoNamespaces)) server.create(kinds.namespace, { metadata: { name } }, "demo");
  // Released, as operators that stopped leave them: without a Lease the first ones wait for a leader that may not know.
  for (const name of ["operator-hostname", "operator-ip"]) {
    server.create(kinds.lease, { metadata: { name, namespace: demoNamespaces.services }, spec: {} }, "demo");
  }
  server.create(kinds.storageClass, beta3, "demo");
  server.create(kinds.runtimeClass, nvidia, "demo");
  return cluster;
}

export function createClusterService(cluster: SimulatedCluster): Service {
  return {
    name: "kubernetes",
    start: (scope) => scope.onStop(() => cluster.close()),
    detail: () => `simulated, ${cluster.counts.requests} requests, ${cluster.counts.watching} watches`,
  };
}

/** What pods with GPUs run under. */
const nvidia = { metadata: { name: "nvidia" }, handler: "nvidia" };

const beta3 = {
  metadata: { name: "beta3", labels: { "akash.network": "true" } },
  provisioner: "rancher.io/local-path",
  volumeBindingMode: "WaitForFirstConsumer",
};

function hardwareOf({ cores, memoryGi, diskGi, cpu, gpus }: Machine): Hardware {
  return {
    architecture: "amd64",
    cpus: [{ id: "0", ...cpu, vcores: cores }],
    memory: { totalBytes: memoryGi * gi },
    gpus: Array.from({ length: gpus?.count ?? 0 }, (_, n) => ({
      address: `0000:${(n + 1).toString(16).padStart(2, "0")}:00.0`,
      vendorId: "10de",
      deviceId: gpus?.deviceId ?? "",
      driver: "nvidia",
      driverVersion: "580.95.05",
      cudaVersion: "13.0",
    })),
    disks: [{ name: "nvme0n1", type: "nvme", sizeBytes: diskGi * gi }],
    interfaces: [{ name: "eth0", up: true, speedMbps: 10_000 }],
    problems: [],
  };
}
