/**
 * Follows an inventory operator in another process: ours, or the Go provider's, which serves the same gRPC. Its stream is silent
 * while nothing changes, so it is also queried periodically: Go's servers reject HTTP/2 pings sent this often.
 */
import { kinds } from "../../../kube/kinds.ts";
import { isLaterVersion, type Kube } from "../../../kube/kube.ts";
import { second } from "../../../runtime/durations.ts";
import type { GrpcTarget } from "../../../runtime/grpc/grpc-client.ts";
import { proofIn } from "../../../runtime/grpc/snapshot-proof.ts";
import { createWakeSignal } from "../../../runtime/wake-signal.ts";
import {
  followOperator,
  operatorNamespace as namespace,
  type OperatorConnection,
  type OperatorFeedDeps,
  type OperatorLocation,
  reachOperator,
} from "../operator-connection.ts";
import { createNewestSnapshot, feedProofMs, type InventoryFeed } from "./feed.ts";
import { clusterIn, createClusterReader } from "./read-cluster.ts";

/** One snapshot: 1,000 nodes with eight GPUs each are about 1 MB. */
const snapshotBytes = 32 * 1024 * 1024;
/** An operator that has just started is queried soon for what it waits for. */
const feedFirstMs = 5 * second;
/** Of a query: a large snapshot over a slow connection. */
export const feedAnswerMs = 15 * second;
/** Longest pause between connections, so that several fit into the time that the last snapshot is valid. */
export const feedRetryMostMs = 10 * second;
/** The stream reports a change before the bus does; only one that is silent for longer is queried. */
export const feedWakeMs = 2 * second;

const streamCluster = "/akash.inventory.v1.ClusterRPC/StreamCluster";
const queryCluster = "/akash.inventory.v1.ClusterRPC/QueryCluster";
const empty = new Uint8Array();

interface Connection extends OperatorConnection {
  readonly sinceMs: number;
  hasSnapshot: boolean;
  /** Of the last snapshot that was queried. */
  queriedVersion: string | undefined;
}

export function createGrpcFeed(deps: OperatorFeedDeps): InventoryFeed {
  const { clock, log } = deps;
  const readCluster = createClusterReader();
  let heardAtMs = clock.monotonicMs();
  let ages = { ownAgeMs: 0, volumesAgeMs: 0 };
  let isQueryDue = false;
  const pause = createWakeSignal(clock);
  const retry = createWakeSignal(clock);
  const newest = createNewestSnapshot(clock, log, () => ({ silentMs: clock.monotonicMs() - heardAtMs, ...ages }));

  function read(message: Uint8Array) {
    const proof = proofIn(message);
    return {
      snapshot: {
        ...readCluster(message),
        network: () => clusterIn(message),
        podsVersion: proof?.podsVersion || undefined,
        volumesVersion: proof?.volumesVersion || undefined,
        defaultClass: proof?.defaultClass || undefined,
        cameAtMs: clock.monotonicMs(),
      },
      sentAges: { ownAgeMs: Number(proof?.ageMs ?? 0n), volumesAgeMs: Number(proof?.volumesAgeMs ?? 0n) },
    };
  }

  function take({ snapshot, sentAges }: ReturnType<typeof read>, connection: Connection): void {
    connection.hasSnapshot = true;
    connection.heard();
    heardAtMs = snapshot.cameAtMs;
    ages = sentAges;
    newest.show(snapshot);
  }

  async function followStream(connection: Connection): Promise<void> {
    for await (const message of connection.client.stream(streamCluster, empty)) {
      const received = read(message);
      const { queriedVersion = "" } = connection;
      // A large snapshot on the stream can be overtaken by the answer to a query, and is older then. Versions that began
      // anew, after a restored backup, need another query.
      if (!isLaterVersion(queriedVersion, received.snapshot.podsVersion ?? "")) take(received, connection);
    }
  }

  async function poll(connection: Connection): Promise<never> {
    for (;;) {
      const { client, signal, hasSnapshot, sinceMs } = connection;
      const dueMs = hasSnapshot ? heardAtMs + feedProofMs : sinceMs + feedFirstMs;
      const leftMs = dueMs - clock.monotonicMs();
      if (leftMs > 0 && !isQueryDue) {
        await pause.wait(leftMs, signal);
        signal.throwIfAborted();
        continue;
      }
      isQueryDue = false;
      const received = read(await client.call(queryCluster, empty, feedAnswerMs));
      connection.queriedVersion = received.snapshot.podsVersion;
      take(received, connection);
      newest.counts.proofs += 1;
    }
  }

  function ask(): void {
    isQueryDue = true;
    pause.notify();
  }

  const options = {
    ...{ mostBytes: snapshotBytes, retryMostMs: feedRetryMostMs, failed: newest.failed, retry },
    follow(opened: OperatorConnection): Promise<void> {
      const state = { sinceMs: clock.monotonicMs(), hasSnapshot: false, queriedVersion: undefined };
      const connection = { ...opened, ...state };
      return Promise.race([followStream(connection), poll(connection)]);
    },
    retrying(): void {
      newest.counts.reconnects += 1;
    },
  };
  return Object.assign(newest, {
    run: (signal: AbortSignal) => followOperator(options, deps, signal),
    ask,
    wake(): void {
      retry.notify();
      if (clock.monotonicMs() - heardAtMs > feedWakeMs) ask();
    },
  });
}

/** The Go provider's chart and ours name its Service differently; the labels are the same. */
const labels = { name: "inventory", instance: "inventory-service", component: "operator", "part-of": "provider" };
const labelSelector = Object.entries(labels)
  .map(([key, value]) => `app.kubernetes.io/${key}=${value}`)
  .join(",");

const sought = {
  operator: "inventory operator",
  setting: "--inventory-operator-endpoint",
  portName: "grpc",
  find: async (kube: Kube, signal: AbortSignal) =>
    (await kube.list(kinds.service, { namespace, labelSelector, signal }))[0],
  absent: `no Service in ${namespace} has the labels ${labelSelector}`,
} as const;

export function locateInventory(location: OperatorLocation, signal: AbortSignal): Promise<GrpcTarget> {
  return reachOperator(sought, location, signal);
}
