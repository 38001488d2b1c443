/** Connections that are kept, some for each lane, so that none ever waits for another. */

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

/** Connections for calls; watches and what is passed on to pods have their own, so none waits for another. */
export const kubeSockets = 16;
/** For what is passed on to pods: a few per node of a large cluster that fell silent, and each is given up in time. */
const kubeProxySockets = 64;
/** Idle connections close before load balancers cut them (a minute), and before a list would have to wait on a dead one. */
const kubeIdleMs = 30 * second;
/** A peer that is gone without a word is noticed by the kernel so much later, and ten seconds of probes. */
export const kubeKeepAliveMs = 15 * second;

type Agents = Readonly<Record<Lane, http.Agent>>;

export interface AgentPool {
  at(access: Access): Agents;
  close(): void;
}

export function createAgentPool(): AgentPool {
  let current: { readonly agents: Agents; readonly mark: string } | undefined;
  /** Those with a certificate that was replaced since: what they carry may end by itself. */
  let retired: http.Agent[] = [];

  return {
    at(access) {
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
    close() {
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
    // Else it would come to light only while connecting, looking like a failure of the server.
    createSecureContext(tls);
    return new made.Secure({ ...options, ...tls });
  } catch (thrown) {
    const reason = `its certificate or key: ${reasonOf(thrown)}`;
    throw new ProviderError("AKP_KUBECONFIG_UNUSABLE", { path, reason }, { cause: thrown });
  }
}

/** What Node takes from a connection at once. More would be held of each that is paused, and of what is longer than a piece. */
const kubeReadBytes = 8 * 1024;

/** What has just arrived: Node reads one connection after the other, so that all of them can have the same place. */
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

type Give = (bytes: Buffer) => void;

/** Of one answer at a time, for the same reason. */
const place = Buffer.allocUnsafeSlow(kubePieceBytes);
let filled = 0;
let goesTo: Give | undefined;
let isDue = false;

/** The same answer in few pieces, none of which is waited for. */
export function gathered(response: IncomingMessage): Readable {
  const { socket } = response;
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
  // Who reads it looks for its error; nobody does before he began.
  body.on("error", () => undefined);
  const pause = () => {
    if (body.readableLength >= kubePieceBytes && !response.complete) socket.pause();
  };
  const give = (bytes: Buffer) => {
    // Later, but before more is read: what HTTP took in just now makes it go on a tick from here, whoever has told it to pause.
    if (!body.destroyed && !body.push(bytes)) queueMicrotask(pause);
  };
  response.on("data", (part: Buffer) => gather(give, part));
  response.on("end", () => {
    handOver(give);
    body.push(null);
  });
  response.on("error", (error) => {
    handOver(give);
    body.destroy(error);
  });
  response.on("close", () => {
    if (!response.readableEnded) body.destroy();
  });
  return body;
}

function gather(give: Give, part: Buffer): void {
  if (goesTo !== give || filled + part.length > place.length) handOver();
  if (part.length > place.length) {
    give(copyOf(part));
    return;
  }
  goesTo = give;
  filled += part.copy(place, filled);
  if (isDue) return;
  isDue = true;
  // By then all was read that is there; of sockets, whose time is the real one.
  void realClock.yield().then(() => {
    isDue = false;
    handOver();
  });
}

function handOver(to = goesTo): void {
  if (!to || goesTo !== to) return;
  const bytes = copyOf(place.subarray(0, filled));
  [goesTo, filled] = [undefined, 0];
  to(bytes);
}

/** A few lines share their memory with others; what is more may be held for long, and would keep all of that. */
const smallBytes = 4_096;

function copyOf(bytes: Buffer): Buffer {
  return bytes.length < smallBytes ? Buffer.from(bytes) : ownCopy(bytes);
}
