/** A simulated cluster for a test, with an empty namespace and perhaps a pod that prints and has a shell. */
import type { ClusterOptions } from "../../../src/box/cluster/components/cluster.ts";
import type { Behaviour } from "../../../src/box/cluster/components/kubelet/behaviour.ts";
import { createSimulatedCluster, type SimulatedCluster } from "../../../src/box/cluster/simulated-kube.ts";
import { kinds } from "../../../src/kube/kinds.ts";
import { type Clock, realClock } from "../../../src/runtime/clock.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import { eventually } from "../eventually.ts";
import type { Owner } from "../owner.ts";
import { createSeededRandom } from "../seeded-random.ts";

export const namespace = "lease";
export const box = { namespace, name: "box" };

export interface Simulation extends ClusterOptions {
  readonly clock?: Clock;
  readonly seed?: number;
}

export function simulateKube(
  owner: Owner,
  { clock = realClock, seed = 1, ...options }: Simulation = {},
): SimulatedCluster {
  const cluster = createSimulatedCluster(options, { clock, random: createSeededRandom(seed), log: silentLog });
  owner.after(() => cluster.close());
  cluster.server.create(kinds.namespace, { metadata: { name: namespace } }, "test");
  return cluster;
}

export interface BoxOptions {
  /** One that stands is moved until the box runs. */
  readonly clock?: Clock;
  /** Everything that it prints, by and by. */
  readonly lines?: readonly string[];
  readonly lineEveryMs?: number;
  readonly exitAfterMs?: number;
  readonly http?: Behaviour["http"];
  readonly connect?: Behaviour["connect"];
}

/** A cluster in which a container runs that prints its lines and has a shell. */
export async function simulateBox(owner: Owner, options: BoxOptions = {}): Promise<SimulatedCluster> {
  const { clock = realClock, lines = ["first", "second"], lineEveryMs, exitAfterMs, http, connect } = options;
  const node = { name: "one", cpuMilli: 8_000n, memoryBytes: 2n ** 34n, ephemeralBytes: 2n ** 36n };
  const cluster = simulateKube(owner, {
    clock,
    nodes: [node],
    behaviour: () => ({
      pullMs: 0,
      startMs: 0,
      stopMs: 0,
      logs: (line) => lines[line],
      ...(lineEveryMs === undefined ? {} : { logEveryMs: lineEveryMs }),
      ...(exitAfterMs === undefined ? {} : { exitAfterMs }),
      ...(http && { http }),
      ...(connect && { connect }),
    }),
  });
  const containers = [{ name: "box", image: "nowhere.example/box:1", ports: [{ containerPort: 80 }] }];
  const pod = { metadata: { ...box, labels: { app: "box" } }, spec: { containers, restartPolicy: "Never" } };
  cluster.server.create(kinds.pod, pod, "test");
  await eventually("the box", () => isRunning(cluster));
  return cluster;
}

function isRunning(cluster: SimulatedCluster): boolean {
  const pod = cluster.server.get(kinds.pod, box);
  return (pod?.["status"] as { phase?: string } | undefined)?.phase === "Running";
}
