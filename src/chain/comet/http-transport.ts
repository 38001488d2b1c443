/** The transport to a real node: JSON-RPC in POSTs over connections that stay open, and a WebSocket to listen. */

import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import { createSecureContext } from "node:tls";
import { isDeepStrictEqual } from "node:util";
import { type ClientOptions, WebSocket } from "ws";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf, systemCodeOf } from "../../runtime/errors.ts";
import { rpcCallMs } from "./rpc-call.ts";
import { type RawAnswer, type RpcRequest, type RpcTransport, type SendBounds, unreachable } from "./transport.ts";

/** Connections to one node: more would not make it quicker, and public ones count them. */
const rpcSockets = 32;
/** An idle connection is let go before the node, which does so after 10 s or more, can cut a call short. */
const rpcIdleMs = 8 * second;

export interface NodeAddress {
  readonly url: string;
  readonly tls?: TlsPaths;
}

/** One for each address, under names that differ. */
export function createHttpTransports(addresses: readonly NodeAddress[], clock: Clock) {
  const names = new Set<string>();
  return addresses.map((address, index) => {
    const plain = nameOf(new URL(address.url));
    const name = names.has(plain) ? `${plain} (${index + 1})` : plain;
    names.add(name);
    return createNodeTransport(address, clock, name);
  });
}

export function createNodeTransport(
  { url: address, tls: paths = {} }: NodeAddress,
  clock: Clock,
  name = nameOf(new URL(address)),
): RpcTransport & { readonly sockets: Readonly<SocketCounts> } {
  const url = new URL(address);
  const readTls = createTlsFiles(name, paths, clock);
  const sockets: SocketCounts = { connections: 0, pongs: 0, halfOpen: 0 };
  let material: TlsMaterial | undefined;
  let agent: http.Agent | undefined;

  /** Connections made with a certificate that was replaced since are not used for new calls. */
  function agentNow(): http.Agent {
    const current = readTls();
    if (agent && material === current) return agent;
    agent?.destroy();
    material = current;
    agent = makeAgent(url, name, current);
    return agent;
  }

  return {
    name,
    async send(request, bounds) {
      const exchange = { url, name, agent: agentNow(), request, bounds };
      try {
        return await post(exchange);
      } catch (thrown) {
        if (!(thrown instanceof StaleConnection)) throw thrown;
        const own = makeAgent(url, name, readTls());
        return post({ ...exchange, agent: own }).finally(() => own.destroy());
      }
    },
    async listen(text, heard, signal) {
      const deps = { url, tls: readTls(), clock, counts: sockets };
      await listenOverSocket(deps, text, heard, signal).catch((thrown) => {
        throw connectionError(name, thrown);
      });
    },
    close: () => agent?.destroy(),
    sockets,
  };
}

function makeAgent(url: URL, node: string, material: TlsMaterial): http.Agent {
  const options = { keepAlive: true, maxSockets: rpcSockets, timeout: rpcIdleMs };
  if (url.protocol !== "https:") return new http.Agent(options);
  try {
    // Else it would come to light only while connecting, looking like a failure of the node.
    createSecureContext(material);
    return new https.Agent({ ...options, ...material });
  } catch (thrown) {
    const details = { node, path: "the certificate or key", reason: reasonOf(thrown) };
    throw new ProviderError("AKP_CHAIN_TLS_FILE_UNREADABLE", details, { cause: thrown });
  }
}

/** The node closed a connection that was kept open, just when we wanted to use it; one of its own will do. */
class StaleConnection extends Error {}

interface Exchange {
  readonly url: URL;
  readonly name: string;
  readonly agent: http.Agent;
  readonly request: RpcRequest;
  readonly bounds: SendBounds;
}

function post({ url, name, agent, request: { method, text }, bounds }: Exchange): Promise<RawAnswer> {
  const { signal, onBytes } = bounds;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const chunks: Buffer[] = [];
    let bytes = 0;
    let answered = false;
    const start = url.protocol === "https:" ? https.request : http.request;
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
    const request = start(url, { method: "POST", agent, headers });

    const fail = (error: unknown) => {
      reject(error);
      request.destroy();
    };
    const onAbort = () => fail(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    request.on("close", () => signal.removeEventListener("abort", onAbort));

    request.on("response", (response) => {
      answered = true;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        onBytes(chunk.length);
      });
      response.on("error", () => {
        const reason = `an answer that breaks off after ${bytes} bytes`;
        fail(new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { node: name, method, reason }));
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
    });
    request.on("error", (thrown) => {
      if (answered) return;
      if (request.reusedSocket && systemCodeOf(thrown) === "ECONNRESET") fail(new StaleConnection());
      else fail(connectionError(name, thrown));
    });
    return request.end(text);
  });
}

/** OpenSSL's error codes for certificates that are not trusted. */
const distrust = /^(CERT_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH)/;

function connectionError(node: string, thrown: unknown): ProviderError {
  const reason = reasonOf(thrown);
  if (!distrust.test(systemCodeOf(thrown) ?? "")) return unreachable(node, reason, thrown);
  return new ProviderError("AKP_CHAIN_UNTRUSTED", { node, reason }, { cause: thrown });
}

/** Without credentials and without a path, where some services put a key. */
function nameOf({ protocol, host, pathname, search }: URL): string {
  return `${protocol}//${host}${pathname.length > 1 || search ? "/…" : ""}`;
}

// Certificate, key and CA bundle of one node. They are reread, since they may be renewed while we run.

export const rpcTlsRecheckMs = 10 * second;

interface TlsPaths {
  readonly certFile?: string;
  readonly keyFile?: string;
  /** Replaces the authorities that the system trusts. */
  readonly caFile?: string;
}

interface TlsMaterial {
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly ca?: Buffer;
}

const parts = { cert: "certFile", key: "keyFile", ca: "caFile" } as const;

/** Gives the same object as long as no file has changed. */
function createTlsFiles(node: string, paths: TlsPaths, clock: Clock): () => TlsMaterial {
  let material: TlsMaterial | undefined;
  let recheckAtMs = 0;

  function read(): TlsMaterial {
    const entries = Object.entries(parts).flatMap(([name, part]) => {
      const path = paths[part];
      return path === undefined ? [] : [[name, readTlsFile(path, node)]];
    });
    return Object.fromEntries(entries) as TlsMaterial;
  }

  return () => {
    const nowMs = clock.monotonicMs();
    if (material && nowMs < recheckAtMs) return material;
    recheckAtMs = nowMs + rpcTlsRecheckMs;
    const found = read();
    if (!isDeepStrictEqual(found, material)) material = found;
    return material as TlsMaterial;
  };
}

function readTlsFile(path: string, node: string): Buffer {
  try {
    return readFileSync(path);
  } catch (thrown) {
    throw new ProviderError("AKP_CHAIN_TLS_FILE_UNREADABLE", { path, node, reason: reasonOf(thrown) });
  }
}

// A WebSocket to a node, with a heartbeat.

/** A silent subscription is pinged this often. */
export const rpcWakePingMs = 10 * second;
/** A header is under 2 KB. */
const rpcWakeMessageBytes = 1024 * 1024;

interface SocketCounts {
  connections: number;
  pongs: number;
  /** Connections that did not answer a ping. */
  halfOpen: number;
}

/** As `listen` of a transport, but rejects with the socket's own error. */
function listenOverSocket(
  { url, tls, clock, counts }: { url: URL; tls: ClientOptions; clock: Clock; counts: SocketCounts },
  text: string,
  heard: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const options = { ...tls, maxPayload: rpcWakeMessageBytes, handshakeTimeout: rpcCallMs };
  const socket = new WebSocket(socketAddress(url), options);
  const end = () => socket.terminate();
  const heartbeat = createHeartbeat(socket, clock, counts);
  signal.addEventListener("abort", end, { once: true });
  let failure: Error | undefined;
  return new Promise((resolve, reject) => {
    socket.on("open", () => {
      counts.connections += 1;
      heartbeat.start();
      socket.send(text);
    });
    socket.on("message", (data) => heard(data.toString()));
    socket.on("error", (error) => {
      failure = error;
    });
    socket.on("close", () => {
      heartbeat.stop();
      signal.removeEventListener("abort", end);
      if (failure && !signal.aborted) reject(failure);
      else resolve();
    });
  });
}

/** A peer that vanished does not answer a ping; CometBFT does, and so does every proxy. */
function createHeartbeat(socket: WebSocket, clock: Clock, counts: SocketCounts) {
  let timer: Timer | undefined;
  let isAlive = true;
  const heard = () => {
    isAlive = true;
  };
  socket.on("message", heard);
  socket.on("pong", () => {
    heard();
    counts.pongs += 1;
  });
  function beat(): void {
    if (!isAlive) {
      counts.halfOpen += 1;
      socket.terminate();
      return;
    }
    isAlive = false;
    socket.ping();
    timer = clock.timer(rpcWakePingMs, beat);
  }
  return {
    start: beat,
    stop: () => timer?.cancel(),
  };
}

function socketAddress({ protocol, host, username, password, pathname, search }: URL): URL {
  const address = new URL(`${protocol === "https:" ? "wss" : "ws"}://${host}`);
  Object.assign(address, { username, password, search, pathname: `${pathname.replace(/\/$/, "")}/websocket` });
  return address;
}
