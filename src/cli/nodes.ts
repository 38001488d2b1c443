/** The nodes of the settings, each with its certificate, key and authorities. */
import { createHttpTransports } from "../chain/comet/http-transport.ts";
import type { RpcTransport } from "../chain/comet/transport.ts";
import type { Config } from "../config/table.ts";
import { realClock } from "../runtime/clock.ts";

type NodeSettings = Pick<Config, "nodes" | "nodeCertFiles" | "nodeKeyFiles" | "nodeCaFiles">;

export function nodesOf({ nodes, nodeCertFiles, nodeKeyFiles, nodeCaFiles }: NodeSettings): RpcTransport[] {
  const addresses = nodes.map((url, index) => {
    const certFile = fileFor(nodeCertFiles, index);
    const keyFile = fileFor(nodeKeyFiles, index);
    const caFile = fileFor(nodeCaFiles, index);
    const tls = { ...(certFile && { certFile }), ...(keyFile && { keyFile }), ...(caFile && { caFile }) };
    return { url, tls };
  });
  return createHttpTransports(addresses, realClock);
}

/** One file alone is for all nodes, and a dash stands for none. */
function fileFor(files: readonly string[] | undefined, index: number): string | undefined {
  const file = files?.length === 1 ? files[0] : files?.[index];
  return file === "-" ? undefined : file;
}
