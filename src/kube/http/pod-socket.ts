/** A WebSocket to a pod through the API server: one byte of each message names its channel. */
import type { IncomingMessage } from "node:http";
import { Duplex, Readable, Writable } from "node:stream";
import { WebSocket } from "ws";
import { type Clock, type Timer, withDeadline } from "../../runtime/clock.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { kubeCallMs } from "../../runtime/limits.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { apiError, connectionError, malformedAnswer, type Operation, type Peer } from "../client/api-errors.ts";
import { objectPath } from "../client/transport.ts";
import { kinds, objectText } from "../kinds.ts";
import type { CallOptions, ExecOptions, ExecSession, ObjectAt } from "../kube.ts";
import type { AgentPool } from "./agents.ts";
import type { Access, KubeCredentials } from "./credentials.ts";

/** Largest message of the server, which sends output in chunks of 32 KiB. */
const messageBytes = 1024 * 1024;
/** The size of the server's buffers for input. */
const pieceBytes = 32 * 1024;
/** Read of an error response: a message and its causes. */
const errorBytes = 64 * 1024;
/** Between pings on a connection without messages. */
const pingMs = 20_000;

export interface PodSocketDeps {
  readonly credentials: KubeCredentials;
  readonly agents: Pick<AgentPool, "at">;
  readonly clock: Clock;
  /** Aborted when the transport is closed. */
  readonly closing: AbortSignal;
}

interface PodSocketRequest {
  readonly verb: string;
  readonly at: ObjectAt;
  /** The subresource and its query. */
  readonly path: string;
  readonly protocols: readonly string[];
}

/** `use` attaches its listeners before the socket opens: the first message may come with the very first packet. */
export async function openPodSocket<T>(
  { verb, at, path, protocols }: PodSocketRequest,
  { signal, deadlineMs = kubeCallMs }: CallOptions,
  { credentials, agents, clock, closing }: PodSocketDeps,
  use: (socket: WebSocket, operation: Operation, access: Access) => T,
): Promise<T> {
  const operation = { verb, resource: objectText(kinds.pod, at) };
  signal?.throwIfAborted();
  const begunMs = clock.monotonicMs();
  const access = await credentials.current({ signal, answerMs: deadlineMs });
  if (closing.aborted) throw connectionError(closing.reason, operation, access);
  const authorization = access.authorization === undefined ? {} : { authorization: access.authorization };
  const root = access.server.href.replace(/^http/, "ws").replace(/\/$/, "");
  const socket = new WebSocket(`${root}${objectPath(kinds.pod, at)}/${path}`, [...protocols], {
    // These agents read nothing from a paused connection; Node would buffer 64 KB for every slow reader.
    agent: agents.at(access).streams,
    headers: authorization,
    maxPayload: messageBytes,
    perMessageDeflate: false,
  });
  const used = use(socket, operation, access);
  const end = () => socket.terminate();
  closing.addEventListener("abort", end, { once: true });
  signal?.addEventListener("abort", end, { once: true });
  socket.on("close", () => {
    closing.removeEventListener("abort", end);
    signal?.removeEventListener("abort", end);
  });
  const late = () => {
    end();
    throw connectionError(new Error(`no answer within ${deadlineMs} ms`), operation, access);
  };
  const leftMs = Math.max(0, deadlineMs - (clock.monotonicMs() - begunMs));
  await endedBy(withDeadline(clock, leftMs, opened(socket, operation, access, credentials), late), signal);
  keepAlive(socket, clock);
  return used;
}

/** In chunks that servers accept; `done` is called after the last. */
export function sendPieces(
  socket: WebSocket,
  channel: number,
  bytes: Buffer,
  done: (error?: Error | null) => void,
): void {
  const pieces = Math.max(1, Math.ceil(bytes.length / pieceBytes));
  for (let piece = 0; piece < pieces; piece += 1) {
    const from = piece * pieceBytes;
    const message = Buffer.concat([Buffer.of(channel), bytes.subarray(from, from + pieceBytes)]);
    const isLast = piece === pieces - 1;
    socket.send(message, (error) => isLast && done(error ?? null));
  }
}

function opened(socket: WebSocket, operation: Operation, access: Access, credentials: KubeCredentials): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", (thrown) => reject(connectionError(thrown, operation, access)));
    socket.once("close", () => reject(connectionError(new Error("the connection was closed"), operation, access)));
    socket.once("unexpected-response", (_request, response: IncomingMessage) => {
      const { statusCode: status = 0, headers } = response;
      if (status === 401) credentials.rejected();
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        if (body.length < errorBytes) body += text;
      });
      response.on("close", () => {
        reject(apiError({ status, headers, body }, operation, access));
        socket.terminate();
      });
    });
  });
}

/** Ends the connection of a peer that does not answer a ping. */
function keepAlive(socket: WebSocket, clock: Clock): void {
  let isAlive = true;
  let timer: Timer | undefined;
  socket.on("pong", () => {
    isAlive = true;
  });
  socket.on("message", () => {
    isAlive = true;
  });
  function beat(): void {
    if (!isAlive) {
      socket.terminate();
      return;
    }
    // A paused connection does not read the pong.
    isAlive = socket.isPaused;
    socket.ping();
    timer = clock.timer(pingMs, beat);
  }
  socket.on("close", () => timer?.cancel());
  timer = clock.timer(pingMs, beat);
}

/** Runs a command in a container over a WebSocket (v5.channel.k8s.io): one byte for the channel, then its bytes. */
const shellChannels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;

/** Only version 5 can close stdin. */
const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

/** Buffered for the reader of each output. */
const aheadBytes = 16 * 1024;

export function exec(at: ObjectAt, options: ExecOptions, deps: PodSocketDeps): Promise<ExecSession> {
  const request = { verb: "exec in", at, path: `exec?${execQuery(options)}`, protocols };
  return openPodSocket(request, options, deps, createSession);
}

function execQuery({ command, container, stdin = false, tty = false }: ExecOptions): URLSearchParams {
  const query = new URLSearchParams(command.map((word): [string, string] => ["command", word]));
  if (container !== undefined) query.set("container", container);
  query.set("stdin", String(stdin));
  query.set("stdout", "true");
  query.set("stderr", String(!tty));
  query.set("tty", String(tty));
  return query;
}

/** Listeners are attached at once: the first output may come with the very first packet. */
function createSession(socket: WebSocket, operation: Operation, access: Access): ExecSession {
  const exit = Promise.withResolvers<number>();
  // A caller may not read the exit code.
  exit.promise.catch(() => undefined);
  const stdout = output(socket);
  const stderr = output(socket);
  const end = () => socket.terminate();
  socket.on("message", (data: Buffer) => {
    const rest = data.subarray(1);
    if (data[0] === shellChannels.stdout) deliver(stdout, rest, socket);
    else if (data[0] === shellChannels.stderr) deliver(stderr, rest, socket);
    else if (data[0] === shellChannels.status) exitCodeOf(rest, operation, access).then(exit.resolve, exit.reject);
  });
  socket.on("error", (thrown) => exit.reject(connectionError(thrown, operation, access)));
  socket.on("close", (code) => {
    stdout.push(null);
    stderr.push(null);
    const reason = new Error(`the connection ended (${code}) before the command did`);
    exit.reject(connectionError(reason, operation, access));
  });
  return {
    stdin: input(socket),
    stdout,
    stderr,
    resize({ columns, rows }) {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send(frame(shellChannels.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows }))));
    },
    exit: exit.promise,
    close: end,
  };
}

/** A metav1.Status. */
interface ExecStatus {
  readonly status?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

async function exitCodeOf(bytes: Buffer, operation: Operation, peer: Peer): Promise<number> {
  const status = parseJson(bytes.toString()) as ExecStatus | undefined;
  if (status === undefined) throw malformedAnswer("no exit status", operation, peer);
  if (status.status === "Success") return 0;
  const cause = status.details?.causes?.find(({ reason }) => reason === "ExitCode");
  if (status.reason === "NonZeroExitCode" && cause?.message !== undefined) return Number(cause.message);
  throw apiError({ status: status.code ?? 500, body: bytes.toString() }, operation, peer);
}

/** A slow reader slows the command down, as a pipe would. Both outputs share the connection, so one that is not read blocks the other. */
function output(socket: WebSocket): Readable {
  return new Readable({ highWaterMark: aheadBytes, read: () => socket.resume() });
}

function deliver(stream: Readable, bytes: Buffer, socket: WebSocket): void {
  if (bytes.length > 0 && !stream.push(bytes)) socket.pause();
}

function input(socket: WebSocket): Writable {
  const stdin = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (socket.readyState !== WebSocket.OPEN) return done(new Error("the command has ended and takes no more input"));
      return sendPieces(socket, shellChannels.stdin, chunk, done);
    },
    final(done) {
      const canEnd = socket.protocol === protocols[0] && socket.readyState === WebSocket.OPEN;
      if (!canEnd) return done();
      return socket.send(Buffer.of(shellChannels.close, shellChannels.stdin), (error) => done(error ?? null));
    },
  });
  // A command may end before it has read everything, as `head` does; an unhandled error would end the process.
  stdin.on("error", () => undefined);
  return stdin;
}

function frame(channel: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of(channel), bytes]);
}

/** A connection to a port of a pod, over a WebSocket (v4.channel.k8s.io): channel 0 has its bytes, channel 1 its error. */
const portChannels = { data: 0, error: 1 } as const;
/** The first message of each channel is the number of the port. */
const portBytes = 2;

export function forwardPort(at: ObjectAt, port: number, options: CallOptions, deps: PodSocketDeps): Promise<Duplex> {
  const path = `portforward?ports=${port}`;
  return openPodSocket({ verb: "connect to", at, path, protocols: ["v4.channel.k8s.io"] }, options, deps, duplexOf);
}

function duplexOf(socket: WebSocket, operation: Operation, access: Access): Duplex {
  const failed = (reason: string) => connectionError(new Error(reason), operation, access);
  const duplex = new Duplex({
    read: () => socket.resume(),
    write(chunk: Buffer, _encoding, done) {
      if (socket.readyState !== WebSocket.OPEN) return done(failed("the connection has ended"));
      return sendPieces(socket, portChannels.data, chunk, done);
    },
    // Half-closing is not supported.
    final(done) {
      socket.close(1_000);
      done();
    },
    destroy(error, done) {
      socket.terminate();
      done(error);
    },
  });
  const started = new Set<number>();
  socket.on("message", (data: Buffer) => {
    const [channel = -1] = data;
    const bytes = data.subarray(1 + (started.has(channel) ? 0 : portBytes));
    started.add(channel);
    if (bytes.length === 0) return;
    if (channel === portChannels.error) duplex.destroy(failed(bytes.toString()));
    else if (channel === portChannels.data && !duplex.push(bytes)) socket.pause();
  });
  socket.on("error", (thrown) => duplex.destroy(connectionError(thrown, operation, access)));
  socket.on("close", () => duplex.push(null));
  // A failure to open rejects the promise of `openPodSocket`.
  duplex.on("error", () => undefined);
  return duplex;
}
