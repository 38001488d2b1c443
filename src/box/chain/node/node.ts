/** An Akash node in one process: the application behind CometBFT's RPC and the SDK's gRPC. */
import type { RpcTransport } from "../../../chain/comet/transport.ts";
import type { Clock } from "../../../runtime/clock.ts";
import type { Log } from "../../../runtime/log.ts";
import { createBlockClock } from "./block-clock.ts";
import type { Block } from "./block-store.ts";
import { type ChainOptions, createChain } from "./chain.ts";
import { createCommitWaits } from "./commit-waits.ts";
import { createEventFeed } from "./event-feed.ts";
import { createNodeGrpc } from "./grpc.ts";
import { createInProcess } from "./in-process.ts";
import { createJsonRpc } from "./json-rpc.ts";
import { createQueryRouter } from "./query-router.ts";
import { createRpcServer } from "./rpc.ts";
import { chainMethods } from "./rpc-methods/chain-methods.ts";
import { createIdentity, nodeMethods } from "./rpc-methods/node-methods.ts";
import { txMethods } from "./rpc-methods/tx-methods.ts";
import { tendermintService } from "./services/tendermint-service.ts";
import { txService } from "./services/tx-service.ts";
import { subscriptionMethods } from "./subscriptions.ts";
import { createSockets } from "./websocket.ts";

/** After its block, until a transaction can be found: a real node indexes after it publishes the block. */
export const chainIndexMs = 20;

/** A transaction can be found a moment after its block, as on a real node, unless set otherwise. */
export interface NodeOptions extends ChainOptions {
  readonly log: Log;
  /** False: it is reached within the process only. */
  readonly listens?: boolean;
  readonly host?: string;
  /** 0, which is also the default, takes a free one. */
  readonly rpcPort?: number;
  readonly grpcPort?: number;
  /** Time between blocks; 0, which is also the default, leaves them to `step`. */
  readonly blockMs?: number;
  /** For pings and deadlines of connections: sockets live in real time even where blocks do not. */
  readonly socketClock?: Clock;
}

export interface Node {
  /** Replays the file, listens, and starts to make blocks by the clock if configured. */
  start(): Promise<void>;
  /** Leaves nothing behind; also after a start that failed. */
  stop(): Promise<void>;
  /** Makes a block now. */
  step(): Block;
  /** Called after each block; what it returns ends that. */
  onBlock(listener: (block: Block) => void): () => void;
  /** Rejects when a block could not be made by the clock: the chain stands still from then on. */
  readonly failed: Promise<never>;
  /** To its RPC within the process; answers between start and stop. */
  transport(name?: string): RpcTransport;
  readonly rpcUrl: string;
  readonly grpcUrl: string;
  readonly chainId: string;
  readonly height: bigint;
  readonly counts: NodeCounts;
}

interface NodeCounts {
  readonly waitingTxs: number;
  readonly waitingBytes: number;
  readonly webSockets: number;
  readonly subscriptions: number;
  readonly grpcConnections: number;
}

export function createNode(options: NodeOptions): Node {
  const { app, clock, log, host = "127.0.0.1", listens = true, blockMs = 0, socketClock = clock } = options;
  const chain = createChain({ ...options, indexMs: options.indexMs ?? chainIndexMs });
  const { store, mempool } = chain;
  const identity = createIdentity(app.chainId);
  const waits = createCommitWaits(clock);
  const feed = createEventFeed();
  const blocks = createBlockClock(clock, blockMs, chain.step);
  chain.onBlock(waits.settle);
  chain.onBlock(feed.publish);

  let rpcPort = 0;
  let grpcPort = 0;
  const rpcAddress = () => `tcp://${host}:${rpcPort}`;
  const queries = createQueryRouter(
    app,
    new Map([...txService(store, mempool), ...tendermintService(app.chainId, store, identity, rpcAddress)]),
  );
  const methods = {
    ...nodeMethods({ chain, queries, identity, rpcAddress }),
    ...chainMethods(chain),
    ...txMethods(chain, waits),
    ...subscriptionMethods,
  };
  const rpc = createJsonRpc(methods, log);
  const inProcess = createInProcess({ rpc, feed, clock });
  const sockets = createSockets({ rpc, feed, log, clock: socketClock });
  const rpcServer = createRpcServer(rpc, sockets, log);
  const grpcServer = createNodeGrpc(queries, socketClock, log);

  return {
    async start() {
      await chain.open();
      if (listens) {
        rpcPort = await rpcServer.listen({ host, port: options.rpcPort ?? 0 });
        const names = { what: "the embedded node", setting: "--grpc-port" };
        grpcPort = await grpcServer.listen({ host, port: options.grpcPort ?? 0, ...names });
      }
      blocks.start(store.height === 0n);
      log.info("embedded node started", { chainId: app.chainId, height: `${store.height}`, rpcPort, grpcPort });
    },
    async stop() {
      blocks.stop();
      waits.stop();
      inProcess.stop();
      sockets.stop();
      await Promise.all([rpcServer.stop(), grpcServer.stop()]);
      chain.close();
    },
    step: chain.step,
    onBlock: chain.onBlock,
    failed: blocks.failed,
    transport: (name = `the embedded node of ${app.chainId}`) => inProcess.transport(name),
    get rpcUrl() {
      return `http://${host}:${rpcPort}`;
    },
    get grpcUrl() {
      return `http://${host}:${grpcPort}`;
    },
    chainId: app.chainId,
    get height() {
      return store.height;
    },
    get counts() {
      return {
        waitingTxs: mempool.size,
        waitingBytes: mempool.bytes,
        webSockets: sockets.connections,
        subscriptions: feed.subscriptions,
        grpcConnections: grpcServer.connections,
      };
    },
  };
}
