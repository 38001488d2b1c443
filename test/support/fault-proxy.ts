/** A node's RPC behind a wire that goes wrong as a test, or a seed, wants it. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import type { Random } from "../../src/runtime/random.ts";
import type { Owner } from "./owner.ts";

export type Fault =
  /** The connection is closed without an answer. */
  | "cut"
  /** Half of the answer, then the connection is closed. */
  | "cut off"
  /** The connection stays, and nothing ever comes. */
  | "hang"
  /** A proxy's page instead of an answer. */
  | "html"
  /** HTTP 500 with an error as a node gives it. */
  | "error"
  /** An answer to another call. */
  | "wrong id"
  /** A transaction is taken with a yes and goes nowhere. */
  | "swallow";

export interface FaultProxy {
  readonly url: string;
  /** What happens to a call; undefined lets it pass. */
  fault: (method: string) => Fault | undefined;
  /** A node that says something else than the truth. */
  rewrite: (method: string, answer: string, params: Call["params"]) => string;
  /** Blocks that this node is behind. */
  lag: bigint;
  /** The last block that this node ever sees. */
  frozenAt: bigint | undefined;
  /** WebSocket connections stay, and nothing comes through any more. */
  muteSockets(): void;
  /** Calls that got through, by method. */
  readonly passed: Map<string, number>;
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: { readonly height?: string };
}

export async function startFaultProxy(owner: Owner, target: () => string): Promise<FaultProxy> {
  const passed = new Map<string, number>();
  const sockets = new Set<Socket>();
  const upgraded: { near: Socket; far: Socket }[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const call = JSON.parse(body) as Call;
    const fault = proxy.fault(call.method);
    if (fault === "hang") return;
    if (fault === "cut") return void response.destroy();
    if (fault === "html") return void response.writeHead(502).end("<html><body>Bad Gateway</body></html>");
    if (fault === "error") return void response.writeHead(500).end(refusal(call, "could not find results"));
    if (fault === "swallow") return void response.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, result: taken }));
    passed.set(call.method, (passed.get(call.method) ?? 0) + 1);
    const text = proxy.rewrite(call.method, await forward(body, call), call.params);
    if (fault === "wrong id") return void response.end(text.replace(`"id":${call.id}`, `"id":${call.id + 1}`));
    if (fault !== "cut off") return void response.end(text);
    response.writeHead(200, { "content-length": Buffer.byteLength(text) });
    response.write(text.slice(0, text.length / 2), () => response.destroy());
  }

  async function forward(body: string, call: Call): Promise<string> {
    const text = await (await fetch(target(), { method: "POST", body })).text();
    if (proxy.lag === 0n && proxy.frozenAt === undefined) return text;
    const { result } = JSON.parse(await (await fetch(target(), { method: "POST", body: statusCall })).text());
    const latest = BigInt(result.sync_info.latest_block_height);
    const seen = proxy.frozenAt !== undefined && proxy.frozenAt < latest ? proxy.frozenAt : latest - proxy.lag;
    if (call.method === "status") {
      return text.replace(/"latest_block_height":"\d+"/, `"latest_block_height":"${seen}"`);
    }
    if (BigInt(call.params.height ?? 0) <= seen) return text;
    return refusal(call, `height ${call.params.height} must be less than or equal to the current blockchain height`);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  server.on("upgrade", (request, near: Socket) => {
    const far = connect(Number(new URL(target()).port), "127.0.0.1");
    sockets.add(far);
    far.on("error", () => near.destroy());
    far.on("close", () => near.destroy());
    near.on("close", () => far.destroy());
    const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    far.write(`GET ${request.url} HTTP/1.1\r\n${headers.join("")}\r\n`);
    near.pipe(far);
    far.pipe(near);
    upgraded.push({ near, far });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  owner.after(async () => {
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  });

  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${port}`,
    fault: () => undefined,
    rewrite: (_, answer) => answer,
    lag: 0n,
    frozenAt: undefined,
    muteSockets() {
      for (const { near, far } of upgraded) {
        near.unpipe(far);
        far.unpipe(near);
        near.resume();
        far.resume();
      }
    },
    passed,
  };
  return proxy;
}

/** Each call goes wrong with this chance, in any of these ways. */
export function chaos(random: Random, share: number, faults: readonly Fault[]): FaultProxy["fault"] {
  return () => (random.next() < share ? faults[random.int(faults.length)] : undefined);
}

const taken = { code: 0, data: "", log: "", codespace: "", hash: "" };

const statusCall = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "status", params: {} });

function refusal({ id }: Call, data: string): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32603, message: "Internal error", data } });
}
