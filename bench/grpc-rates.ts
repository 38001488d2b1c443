/** GetStatus over one TLS connection with 64 streams, with one lease and with a hundred, and memory over half a million calls. */
import { once } from "node:events";
import { join } from "node:path";
import { temporaryFolder } from "../test/folder.ts";
import { createOwner, type Owner } from "../test/owner.ts";
import type { GrpcLoad, GrpcLoaded } from "./grpc-load.ts";
import { launch, startMarket, startProvider } from "./leases-market.ts";
import { type Row, round } from "./report.ts";

const [dseq, grpcStreams, grpcCalls, callsForMemory, manyLeases] = [7, 64, 60_000, 500_000, 100];

export async function measureGrpc(rows: Row[]) {
  await using owner = createOwner();
  const market = await startMarket(owner);
  const provider = await startProvider(
    market.rpcUrl,
    market.kubeconfig,
    join(temporaryFolder(owner), "data"),
    "gateway",
  );
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
  const child = launch("grpc-load.ts");
  owner.after(() => void child.disconnect());
  return async (calls) => {
    const asked: GrpcLoad = { port, path: "/akash.provider.v1.ProviderRPC/GetStatus", streams: grpcStreams, calls };
    child.send(asked);
    const [loaded] = await Promise.race([once(child, "message"), once(child, "exit").then(died)]);
    return loaded as GrpcLoaded;
  };
}

function died(): never {
  throw new Error("the load ended");
}
