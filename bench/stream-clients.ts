/** The parent's side of tenants' streams: other processes that hold them, and how a lease is brought to run for them. */
import { issueToken } from "../src/gateway/client/provider-client.ts";
import { readSdl, type Sdl } from "../src/market/sdl/sdl.ts";
import { sortedJson } from "../src/market/sorted-json.ts";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { sendRequest } from "../test/support/gateway-client.ts";
import type { Owner } from "../test/support/owner.ts";
import { signerOf } from "./leases-people.ts";
import { startChild } from "./processes.ts";
import type { Command, LogsRead, Report, ShellsTyped, SlowlyRead, StreamTarget } from "./stream-load.ts";

export interface StreamClients {
  logs(target: StreamTarget, streams: number): Promise<LogsRead>;
  shells(target: StreamTarget, shells: number, echoes: number): Promise<ShellsTyped>;
  /** They stay open and are read so slowly; without any all are let go. */
  slow(targets: readonly StreamTarget[], bytesPerS?: number): Promise<SlowlyRead>;
}

export function startStreamClients(owner: Owner): StreamClients {
  const child = startChild(owner, "stream-load.ts");
  let last = 0;
  async function answerTo<T extends object>(command: object): Promise<T> {
    last += 1;
    const id = last;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const hear = (message: Report) => message.id === id && resolve(message as unknown as T);
    const die = () => reject(new Error("the load ended"));
    child.on("message", hear).once("exit", die);
    child.send({ ...command, id } as Command);
    try {
      return await promise;
    } finally {
      child.off("message", hear).off("exit", die);
    }
  }
  return {
    logs: (target, streams) => answerTo({ what: "logs", target, streams }),
    shells: (target, shells, echoes) => answerTo({ what: "shells", target, shells, echoes }),
    slow: (targets, bytesPerS = 0) => answerTo({ what: "slow", targets, bytesPerS }),
  };
}

export function tokenOf(dseq: number): string {
  return `Bearer ${issueToken(signerOf(dseq), Date.now())}`;
}

/** One container that runs a script of a shell. */
export function scripted(image: string, script: string, cpuUnits: string): Sdl {
  return readSdl(
    JSON.stringify({
      version: "2.1",
      services: {
        cell: {
          image,
          command: ["/bin/sh", "-c"],
          args: [script],
          expose: [{ port: 8080, as: 80, to: [{ global: true }] }],
        },
      },
      profiles: {
        compute: {
          cell: { resources: { cpu: { units: cpuUnits }, memory: { size: "64Mi" }, storage: [{ size: "64Mi" }] } },
        },
        placement: { box: { pricing: { cell: { denom: "uact", amount: 10_000 } } } },
      },
      deployment: { cell: { box: { profile: "cell", count: 1 } } },
    }),
  );
}

/** Sends a manifest as a tenant does, and waits until its services are ready. */
export async function deploy(port: number, dseq: number, { manifest }: Sdl): Promise<void> {
  const authorization = tokenOf(dseq);
  const body = sortedJson(manifest);
  for (;;) {
    const { status, body: words } = await sendRequest(
      { port },
      { method: "PUT", path: `/deployment/${dseq}/manifest`, authorization, body },
    );
    if (status === 200) break;
    if (status < 500) throw new Error(`the manifest was rejected: ${status} ${words}`);
    await sleep(realClock, 200);
  }
  for (;;) {
    const { status, body: text } = await sendRequest({ port }, { path: `/lease/${dseq}/1/1/status`, authorization });
    if (status === 200 && /"ready_replicas":1/.test(text)) return;
    await sleep(realClock, 200);
  }
}
