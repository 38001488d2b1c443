/** GetStatus over one TLS connection with 64 streams, with one lease and with a hundred, and memory over half a million calls. */
import { once } from "node:events";
import { temporaryFolder } from "../test/support/folder.ts";
import { createOwner, type Owner } from "../test/support/owner.ts";
import type { GrpcLoad, GrpcLoaded } from "./grpc-load.ts";
import { startMarket, startProvider } from "./leases-market.ts";
import { startChild } from "./processes.ts";
import { type Row, round, size } from "./report.ts";

const [dseq, grpcStreams] = [7, 64];
const [grpcCalls, callsForMemory, manyLeases] = size([60_000, 500_000, 100], [2_000, 5_000, 5]);

export async function measureGrpc(rows: Row[]) {
  await using owner = createOwner();
  const market = await startMarket(owner);
  const provider = await startProvider(market.rpcUrl, market.kubeconfig, temporaryFolder(owner), "gateway");
  owner.after(provider.stop);
  const load = startGrpcLoad(owner, provider.start.grpcPort);
  const lease = async (dseqs: readonly number[]) => {
    await market.lease(dseqs);
    await provider.submit(dseqs);
  };
  await lease([dseq]);
  await load(grpcCalls / 4);
  const grpcPerS = round((await load(grpcCalls)).perS, 0);
  rows.push({ what: "GetStatus a second, 1 lease", value: grpcPerS });
  await lease(Array.from({ length: manyLeases - 1 }, (_, n) => dseq + 1 + n));
  await load(grpcCalls / 4);
  const grpcPerS100 = round((await load(grpcCalls)).perS, 0);
  rows.push({ what: `GetStatus a second, ${manyLeases} leases`, value: grpcPerS100 });
  const before = await provider.memory();
  await load(callsForMemory);
  const rssMb = await provider.memory();
  rows.push({ what: `MB after ${callsForMemory} calls, and before`, value: `${rssMb}, ${before}` });
  return { grpcPerS, grpcPerS100, growthMb: rssMb - before, rssMb };
}

function startGrpcLoad(owner: Owner, port: number): (calls: number) => Promise<GrpcLoaded> {
  const child = startChild(owner, "grpc-load.ts");
  return async (calls) => {
    const command: GrpcLoad = { port, path: "/akash.provider.v1.ProviderRPC/GetStatus", streams: grpcStreams, calls };
    child.send(command);
    const [loaded] = await Promise.race([once(child, "message"), once(child, "exit").then(died)]);
    return loaded as GrpcLoaded;
  };
}

function died(): never {
  throw new Error("the load ended");
}
