/** Follows an operator in another process over gRPC: one connection after the other, each to its end, which is never a good one. */
import { growingPauseMs } from "../../runtime/back-off.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { connectGrpc, type GrpcClient, type GrpcTarget } from "../../runtime/grpc/grpc-client.ts";
import type { Log } from "../../runtime/log.ts";
import { jitter, type Random } from "../../runtime/random.ts";

/** First pause before the operator is looked for again; a restart of it takes a few seconds. */
const feedRetryFirstMs = 500;

export interface OperatorFeedDeps {
  /** Where the operator is right now; says why where it is not known. */
  readonly locate: (signal: AbortSignal) => Promise<GrpcTarget>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface FollowOptions {
  /** Of one message. */
  readonly mostBytes: number;
  readonly retryMostMs: number;
  /** Resolves when the operator ends the stream. */
  readonly follow: (connection: OperatorConnection) => Promise<void>;
  readonly failed: (reason: string) => void;
  readonly retrying?: () => void;
}

export interface OperatorConnection {
  readonly client: GrpcClient;
  /** Aborted when it is over. */
  readonly signal: AbortSignal;
  /** Something came over it, so the next pause is a short one. */
  readonly heard: () => void;
}

/** Until the signal is aborted. */
export async function followOperator(
  { mostBytes, retryMostMs, follow, failed, retrying }: FollowOptions,
  { locate, clock, random }: OperatorFeedDeps,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  const heard = () => {
    failures = 0;
  };
  for (;;) {
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    try {
      const client = await connectGrpc(await locate(until), { clock, mostBytes, signal: until });
      await follow({ client, signal: until, heard });
      throw new Error("the operator ended the stream");
    } catch (thrown) {
      if (signal.aborted) return;
      failed(reasonOf(thrown));
    } finally {
      // Closes the connection, and with it ends whatever still goes on over it.
      over.abort();
    }
    failures += 1;
    const pauseMs = jitter(random, growingPauseMs(feedRetryFirstMs, retryMostMs, failures));
    // The signal ends the pause too, and then the next try.
    await sleep(clock, pauseMs, signal).catch(() => undefined);
    retrying?.();
  }
}
