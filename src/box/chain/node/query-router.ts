/** Queries by path and bytes, whichever way they came in (abci_query or gRPC): the application's and the node's own. */
import { grpcServiceOf } from "../../../runtime/grpc/methods.ts";
import type { App, QueryResult } from "../abci.ts";
import { sdkError } from "../errors.ts";
import { ChainError } from "../module.ts";

/** Answers a gRPC request, given its protobuf bytes; rejects with a ChainError. */
export type NodeService = (request: Uint8Array) => Uint8Array;

export interface QueryRouter {
  has(path: string): boolean;
  /** Services of all paths, to distinguish an unknown service from an unknown method. */
  hasService(name: string): boolean;
  /** Height 0 is that of the latest state; of the others only the last ones are kept. */
  query(path: string, request: Uint8Array, height: bigint): QueryResult;
  /** The same by way of abci_query, which sends no transactions. */
  overAbci(path: string, request: Uint8Array, height: bigint): QueryResult;
}

export function createQueryRouter(app: App, nodeServices: ReadonlyMap<string, NodeService>): QueryRouter {
  const paths = new Set([...app.queryPaths, ...nodeServices.keys()]);
  const services = new Set([...paths].map(grpcServiceOf));

  function query(path: string, request: Uint8Array, height: bigint): QueryResult {
    try {
      const at = knownHeight(app, height);
      const service = nodeServices.get(path);
      if (!service) return app.query(path, request, at);
      return { code: 0, codespace: "", log: "", value: service(request), height: at };
    } catch (thrown) {
      if (!(thrown instanceof ChainError)) throw thrown;
      return errorResult(thrown, app.height);
    }
  }

  return {
    has: (path) => paths.has(path),
    hasService: (name) => services.has(name),
    query,
    overAbci(path, request, height) {
      if (path !== broadcastPath) return query(path, request, height);
      return errorResult(sdkError("invalidRequest", "can't route a broadcast tx message"), app.height);
    },
  };
}

const broadcastPath = "/cosmos.tx.v1beta1.Service/BroadcastTx";

function errorResult({ code, codespace, message: log }: ChainError, height: bigint): QueryResult {
  return { code, codespace, log, value: new Uint8Array(), height };
}

function knownHeight(app: App, height: bigint): bigint {
  if (height === 0n) return app.height;
  if (height < 0n) throw sdkError("invalidRequest", "cannot query with height < 0; please provide a valid height");
  if (height > app.height) {
    throw sdkError("invalidHeight", "cannot query with height in the future; please provide a valid height");
  }
  if (height >= app.lowestHeight) return height;
  throw sdkError(
    "notFound",
    `failed to load state at height ${height}; version does not exist (latest height: ${app.height})`,
  );
}
