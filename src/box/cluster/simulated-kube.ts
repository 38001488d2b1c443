/**
 * A whole cluster in memory: an API server, its nodes and controllers. It is reached through the same client as a real
 * one; only the wire between them is missing.
 */

import { createKubeClient, type KubeDeps } from "../../kube/client/kube-client.ts";
import type { Transport } from "../../kube/client/transport.ts";
import type { Kube } from "../../kube/kube.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import type { Random } from "../../runtime/random.ts";
import type { ApiServer } from "./api-server/in-process.ts";
import { createPartsServer } from "./api-server/in-process.ts";
import { createFaults, type Faults } from "./api-server/requests/faults.ts";
import { createServe } from "./api-server/requests/serve.ts";
import { createSimulatedTransport } from "./api-server/requests/transport.ts";
import { createWatches, type Watches } from "./api-server/requests/watches.ts";
import { createServer } from "./api-server/server.ts";
import { type ClusterOptions, type SimulatedNodes, startCluster } from "./components/cluster.ts";

interface SimulatedClusterDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface SimulatedCluster {
  /** A client of its own, that writes under this name. */
  connect(fieldManager: string, deps?: Pick<KubeDeps, "boundary">): Kube;
  /** What clients speak through; for one who puts a real wire before it. */
  transport(): Transport;
  /** For tests that act as a component of the cluster. */
  readonly server: ApiServer;
  readonly nodes: SimulatedNodes;
  readonly faults: Faults;
  readonly counts: {
    /** Watches that are open. */
    readonly watching: number;
    /** Requests so far, rejected ones too. */
    readonly requests: number;
  };
  close(): Promise<void>;
}

export function createSimulatedCluster(
  options: ClusterOptions,
  { clock, random, log }: SimulatedClusterDeps,
): SimulatedCluster {
  const core = createServer({ clock, random });
  const server = createPartsServer(core);
  const { faults, state } = createFaults(() => watches, {
    forget: () => core.store.forget(),
    goBack: (versions) => core.goBack(versions),
  });
  const watches: Watches = createWatches({ store: core.store, clock, faults: state });
  const nodes = startCluster(server, options, { clock, random, log: log.with({ module: "simulated cluster" }) });
  const metrics = options.metrics !== undefined;
  const serve = createServe({ server: core, runtime: nodes.runtime, watches, faults: state, clock, metrics });
  const clients = new Set<Kube>();
  let requests = 0;

  function transport(): Transport {
    const counted = (request: Parameters<typeof serve>[0]) => {
      requests += 1;
      return serve(request);
    };
    return createSimulatedTransport({ serve: counted, server: core, runtime: nodes.runtime, faults: state, clock });
  }

  return {
    connect(fieldManager, deps = {}) {
      const kube = createKubeClient(transport(), fieldManager, { ...deps, clock, random, log });
      clients.add(kube);
      return kube;
    },
    transport,
    server,
    nodes,
    faults,
    counts: {
      get watching() {
        return watches.size;
      },
      get requests() {
        return requests;
      },
    },
    async close() {
      await Promise.all([...clients].map((kube) => kube.close()));
      watches.end();
      await nodes.close();
    },
  };
}
