/** The Kubernetes client over a transport of the test's own. */
import { Readable } from "node:stream";
import { createKubeClient } from "../../../src/kube/client/kube-client.ts";
import type { Transport } from "../../../src/kube/client/transport.ts";
import type { Kube } from "../../../src/kube/kube.ts";
import type { Clock } from "../../../src/runtime/clock.ts";
import { silentLog } from "../../../src/runtime/log.ts";
import { createSeededRandom } from "../seeded-random.ts";

export function openClient(transport: Transport, clock: Clock): Kube {
  return createKubeClient(transport, "akash-provider", { clock, random: createSeededRandom(1), log: silentLog });
}

const peer = { server: new URL("https://10.0.0.1:6443"), path: "kubeconfig" };

/** A server that accepts everything, and of which only the answers matter. */
export function answering(answer: (path: string) => readonly Buffer[]): Transport {
  return {
    send: async ({ path }) => ({ status: 200, headers: {}, body: Readable.from(untilCut(answer(path))), peer }),
    exec: () => Promise.reject(new Error("no commands here")),
    forwardPort: () => Promise.reject(new Error("unused")),
    peer: () => Promise.resolve(peer),
    rejected: () => undefined,
    close: () => undefined,
  };
}

/** Among what is answered: here the connection breaks. */
export const cut = Buffer.alloc(0);

function* untilCut(chunks: readonly Buffer[]): Generator<Buffer> {
  for (const chunk of chunks) {
    if (chunk === cut) throw new Error("the connection was cut");
    if (chunk.length > 0) yield chunk;
  }
}
