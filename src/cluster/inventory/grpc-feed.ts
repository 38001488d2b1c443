/**
 * Follows an inventory operator in another process: ours, or the network's, which serves the same gRPC. Its stream is
 * silent while nothing changes, so the operator is asked now and then whether it is there; that also notices a connection
 * that died without a word. HTTP/2 pings would do so more cheaply, but servers in Go turn away who sends them this often.
 */
import { isLaterVersion } from "../../kube/object-version.ts";
import { growingPauseMs } from "../../runtime/back-off.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { connectGrpc, type GrpcAddress, type GrpcClient } from "../../runtime/grpc/grpc-client.ts";
import { proofIn } from "../../runtime/grpc/picture-proof.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { createPause } from "../../runtime/pause.ts";
import { jitter, type Random } from "../../runtime/random.ts";
import type { ClusterPicture, InventoryFeed } from "./feed.ts";
import { createNewestPicture } from "./newest-picture.ts";
import { clusterIn, createClusterReader } from "./read-cluster.ts";

interface GrpcFeedDeps {
  /** Where the operator is right now; says why where it is not known. */
  readonly locate: (signal: AbortSignal) => Promise<GrpcAddress>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const streamCluster = "/akash.inventory.v1.ClusterRPC/StreamCluster";
const queryCluster = "/akash.inventory.v1.ClusterRPC/QueryCluster";
const empty = new Uint8Array();

/** What came of the connection of now. */
interface Connection {
  readonly client: GrpcClient;
  readonly sinceMs: number;
  brought: boolean;
  /** Of the last picture that was asked for. */
  askedVersion: string | undefined;
}

interface Told {
  readonly picture: ClusterPicture;
  readonly ageMs: number;
}

export function createGrpcFeed({ locate, clock, random, log }: GrpcFeedDeps): InventoryFeed {
  const readCluster = createClusterReader();
  let heardAtMs = clock.monotonicMs();
  let ownAgeMs = 0;
  let failures = 0;
  let isAsked = false;
  const pause = createPause(clock);
  const newest = createNewestPicture(clock, log, () => ({ silentMs: clock.monotonicMs() - heardAtMs, ownAgeMs }));

  /** A picture, and how long ago the operator had heard of the cluster when it sent it. */
  function read(message: Uint8Array): Told {
    const content = readCluster(message);
    const proof = proofIn(message);
    const picture = {
      ...content,
      network: () => clusterIn(message),
      podsVersion: proof?.podsVersion || undefined,
      cameAtMs: clock.monotonicMs(),
    };
    return { picture, ageMs: Number(proof?.ageMs ?? 0n) };
  }

  function take({ picture, ageMs }: Told, connection: Connection): void {
    connection.brought = true;
    failures = 0;
    heardAtMs = picture.cameAtMs;
    ownAgeMs = ageMs;
    newest.show(picture);
  }

  async function followStream(connection: Connection): Promise<never> {
    for await (const message of connection.client.stream(streamCluster, empty)) {
      const told = read(message);
      const { askedVersion = "" } = connection;
      // A large picture on the stream can be overtaken by a newer one that was asked for meanwhile. It proves nothing: where
      // versions began anew, after a restored backup, the operator has to be asked again.
      if (!isLaterVersion(askedVersion, told.picture.podsVersion ?? "")) take(told, connection);
    }
    throw new Error("the operator ended the stream");
  }

  async function proveAlive(connection: Connection, signal: AbortSignal): Promise<never> {
    for (;;) {
      // One that has nothing to show yet says what it waits for when it is asked, so it is asked soon.
      const { client, brought, sinceMs } = connection;
      const dueMs = brought ? heardAtMs + limits.feedProofMs : sinceMs + limits.feedFirstMs;
      const leftMs = dueMs - clock.monotonicMs();
      if (leftMs > 0 && !isAsked) {
        await pause.wait(leftMs, signal);
        signal.throwIfAborted();
        continue;
      }
      isAsked = false;
      const told = read(await client.call(queryCluster, empty, limits.feedAnswerMs));
      connection.askedVersion = told.picture.podsVersion;
      take(told, connection);
      newest.counts.proofs += 1;
    }
  }

  /** Follows one connection to its end, which is never a good one. */
  async function follow(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    try {
      const options = { clock, mostBytes: limits.feedPictureBytes, signal: until };
      const client = await connectGrpc(await locate(until), options);
      const connection = { client, sinceMs: clock.monotonicMs(), brought: false, askedVersion: undefined };
      await Promise.race([followStream(connection), proveAlive(connection, until)]);
    } finally {
      // Closes the connection, and with it ends whichever of the two still goes on.
      over.abort();
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await follow(signal);
      } catch (thrown) {
        if (signal.aborted) return;
        newest.failed(reasonOf(thrown));
      }
      failures += 1;
      const pauseMs = jitter(random, growingPauseMs(limits.feedRetryFirstMs, limits.feedRetryMostMs, failures));
      // The signal ends the pause too, and then the next try.
      await sleep(clock, pauseMs, signal).catch(() => undefined);
      newest.counts.reconnects += 1;
    }
  }

  function ask(): void {
    isAsked = true;
    pause.ring();
  }

  return Object.assign(newest, { run, ask });
}
