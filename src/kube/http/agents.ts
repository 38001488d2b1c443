/** Pools of kept-alive connections, one for each lane, so that none waits for another. */
import type { ClientRequestArgs, IncomingMessage } from "node:http";
import * as http from "node:http";
import * as https from "node:https";
import { Duplex, Readable } from "node:stream";
import { createSecureContext } from "node:tls";
import { realClock } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { ownCopy } from "../../runtime/own-copy.ts";
import { kubePieceBytes } from "../client/lines.ts";
import type { Lane } from "../client/transport.ts";
import type { Access } from "./credentials.ts";

/** Connections for calls. */
export const kubeSockets = 16;
/** For requests proxied to pods, of which many may be slow at once. */
const kubeProxySockets = 64;
/** Idle connections close before load balancers cut them (a minute), and before a list would have to wait on a dead one. */
const kubeIdleMs = 30 * second;
/** TCP keep-alive: the kernel notices a dead peer after this and ten seconds of probes. */
export const kubeKeepAliveMs = 15 * second;

type Agents = Readonly<Record<Lane, http.Agent>>;

export type AgentPool = ReturnType<typeof createAgentPool>;

export function createAgentPool() {
  let current: { readonly agents: Agents; readonly mark: string } | undefined;
  /** With a replaced certificate: their requests may end by themselves. */
  let retired: http.Agent[] = [];

  return {
    at(access: Access): Agents {
      if (current?.mark === access.tlsMark) return current.agents;
      if (current) retired = [...retired, ...Object.values(current.agents)].filter(isInUse);
      const agents = {
        calls: makeAgent(access, { maxSockets: kubeSockets }),
        streams: makeAgent(access, {}, { Plain: PlainGatheringAgent, Secure: GatheringAgent }),
        proxied: makeAgent(access, { maxSockets: kubeProxySockets }),
      };
      current = { agents, mark: access.tlsMark };
      return agents;
    },
    close(): void {
      for (const agent of [...retired, ...Object.values(current?.agents ?? {})]) agent.destroy();
    },
  };
}

function isInUse({ sockets, freeSockets }: http.Agent): boolean {
  return Object.keys(sockets).length + Object.keys(freeSockets).length > 0;
}

const ordinary = { Plain: http.Agent, Secure: https.Agent };

function makeAgent({ server, tls, path }: Access, bounds: http.AgentOptions, made = ordinary): http.Agent {
  const options = { keepAlive: true, keepAliveMsecs: kubeKeepAliveMs, timeout: kubeIdleMs, ...bounds };
  if (server.protocol !== "https:") return new made.Plain(options);
  try {
    // Invalid material would otherwise look like a failure of the server.
    createSecureContext(tls);
    return new made.Secure({ ...options, ...tls });
  } catch (thrown) {
    const reason = `its certificate or key: ${reasonOf(thrown)}`;
    throw new ProviderError("AKP_KUBECONFIG_UNUSABLE", { path, reason }, { cause: thrown });
  }
}

/** Read from a connection at once, and so the most that is held of one that is paused. */
const kubeReadBytes = 8 * 1024;

/** Shared by all connections: Node reads one after the other. */
const arrived = Buffer.allocUnsafeSlow(kubeReadBytes);

/** Small records share buffers: Node's own overhead of 100 bytes each made fifty logs take 300 MB. A paused connection is not read. */
class GatheringAgent extends https.Agent {
  override createConnection(options: ClientRequestArgs, created?: Created) {
    return gathering((more) => super.createConnection({ ...options, ...more } as ClientRequestArgs, created));
  }
}

/** The same without TLS. */
class PlainGatheringAgent extends http.Agent {
  override createConnection(options: ClientRequestArgs, created?: Created) {
    return gathering((more) => super.createConnection({ ...options, ...more } as ClientRequestArgs, created));
  }
}

type Created = (error: Error | null, stream: Duplex) => void;
type Connection = ReturnType<http.Agent["createConnection"]>;

function gathering(connect: (more: object) => Connection): Connection {
  const take = (bytes: number) => connection instanceof Duplex && connection.push(copyOf(arrived.subarray(0, bytes)));
  const connection = connect({ onread: { buffer: arrived, callback: take } });
  return connection;
}

/** The same response in few chunks, without waiting for more of any. */
export function gathered(response: IncomingMessage): Readable {
  const { socket } = response;
  let parts: Buffer[] = [];
  let partBytes = 0;
  const body = new Readable({
    highWaterMark: kubePieceBytes,
    read() {
      if (!response.complete) socket.resume();
    },
    destroy(error, done) {
      response.destroy();
      done(error);
    },
  });
  // The reader gets the error; without a reader it must not end the process.
  body.on("error", () => undefined);
  const pause = () => {
    if (body.readableLength >= kubePieceBytes && !response.complete) socket.pause();
  };
  const handOver = () => {
    if (parts.length === 0) return;
    const bytes = copyOf(Buffer.concat(parts));
    [parts, partBytes] = [[], 0];
    // Later, but before more is read: HTTP resumes the socket a tick after the data that it has just parsed.
    if (!body.destroyed && !body.push(bytes)) queueMicrotask(pause);
  };
  response.on("data", (part: Buffer) => {
    if (partBytes + part.length > kubePieceBytes) handOver();
    // All that has arrived is read by then; sockets live in real time.
    if (parts.length === 0) void realClock.yield().then(handOver);
    parts.push(part);
    partBytes += part.length;
  });
  response.on("end", () => {
    handOver();
    body.push(null);
  });
  response.on("error", (error) => {
    handOver();
    body.destroy(error);
  });
  response.on("close", () => {
    if (!response.readableEnded) body.destroy();
  });
  return body;
}

/** Smaller copies come from Node's shared pool; a larger one, held for long, would keep all of the pool's buffer. */
const smallBytes = 4_096;

function copyOf(bytes: Buffer): Buffer {
  return bytes.length < smallBytes ? Buffer.from(bytes) : ownCopy(bytes);
}
