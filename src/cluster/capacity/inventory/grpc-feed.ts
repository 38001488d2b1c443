/**
 * Follows an inventory operator in another process: ours, or the network's, which serves the same gRPC. Its stream is
 * silent while nothing changes, so it is also queried now and then: Go's servers reject HTTP/2 pings sent this often.
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
import { createNewestSnapshot, type InventoryFeed } from "./feed.ts";
import { feedProofMs } from "./memory-feed.ts";
import { clusterIn, createClusterReader } from "./read-cluster.ts";

/** A picture: 1,000 nodes with eight cards each are about 1 MB, so ten of the largest clusters there are. */
const feedPictureBytes = 32 * 1024 * 1024;
/** An operator that has just started says soon what it waits for. */
const feedFirstMs = 5 * second;
/** How long its answer may take: a large picture over a slow wire. */
export const feedAnswerMs = 15 * second;
/** Longest one, so that several tries lie within the time that the last picture still counts. */
export const feedRetryMostMs = 10 * second;
/** The stream tells of a change before the bus does; only a stream that is silent for longer is worth a question. */
export const feedWakeMs = 2 * second;

const streamCluster = "/akash.inventory.v1.ClusterRPC/StreamCluster";
const queryCluster = "/akash.inventory.v1.ClusterRPC/QueryCluster";
const empty = new Uint8Array();

/** What came of the connection of now. */
interface Connection extends OperatorConnection {
  readonly sinceMs: number;
  brought: boolean;
  /** Of the last picture that was asked for. */
  askedVersion: string | undefined;
}

export function createGrpcFeed(deps: OperatorFeedDeps): InventoryFeed {
  const { clock, log } = deps;
  const readCluster = createClusterReader();
  let heardAtMs = clock.monotonicMs();
  let ages = { ownAgeMs: 0, volumesAgeMs: 0 };
  let isAsked = false;
  const pause = createWakeSignal(clock);
  const retry = createWakeSignal(clock);
  const newest = createNewestSnapshot(clock, log, () => ({ silentMs: clock.monotonicMs() - heardAtMs, ...ages }));

  /** A picture, and how long ago the operator had heard of the cluster and of its volumes when it sent it. */
  function read(message: Uint8Array) {
    const proof = proofIn(message);
    const picture = {
      ...readCluster(message),
      network: () => clusterIn(message),
      podsVersion: proof?.podsVersion || undefined,
      volumesVersion: proof?.volumesVersion || undefined,
      defaultClass: proof?.defaultClass || undefined,
      cameAtMs: clock.monotonicMs(),
    };
    return {
      picture,
      sentAges: { ownAgeMs: Number(proof?.ageMs ?? 0n), volumesAgeMs: Number(proof?.volumesAgeMs ?? 0n) },
    };
  }

  function take({ picture, sentAges }: ReturnType<typeof read>, connection: Connection): void {
    connection.brought = true;
    connection.heard();
    heardAtMs = picture.cameAtMs;
    ages = sentAges;
    newest.show(picture);
  }

  async function followStream(connection: Connection): Promise<void> {
    for await (const message of connection.client.stream(streamCluster, empty)) {
      const told = read(message);
      const { askedVersion = "" } = connection;
      // A large picture on the stream can be overtaken by a newer one that was asked for meanwhile. It proves nothing: where
      // versions began anew, after a restored backup, the operator has to be asked again.
      if (!isLaterVersion(askedVersion, told.picture.podsVersion ?? "")) take(told, connection);
    }
  }

  async function proveAlive(connection: Connection): Promise<never> {
    for (;;) {
      // One that has nothing to show yet says what it waits for when it is asked, so it is asked soon.
      const { client, signal, brought, sinceMs } = connection;
      const dueMs = brought ? heardAtMs + feedProofMs : sinceMs + feedFirstMs;
      const leftMs = dueMs - clock.monotonicMs();
      if (leftMs > 0 && !isAsked) {
        await pause.wait(leftMs, signal);
        signal.throwIfAborted();
        continue;
      }
      isAsked = false;
      const told = read(await client.call(queryCluster, empty, feedAnswerMs));
      connection.askedVersion = told.picture.podsVersion;
      take(told, connection);
      newest.counts.proofs += 1;
    }
  }

  function follow(opened: OperatorConnection): Promise<void> {
    const connection = { ...opened, sinceMs: clock.monotonicMs(), brought: false, askedVersion: undefined };
    return Promise.race([followStream(connection), proveAlive(connection)]);
  }

  function ask(): void {
    isAsked = true;
    pause.notify();
  }

  const options = {
    ...{ mostBytes: feedPictureBytes, retryMostMs: feedRetryMostMs, follow, failed: newest.failed, retry },
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

/** The network's chart and ours name its Service differently; the labels are the same. */
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
