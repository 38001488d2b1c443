/** Runs a command in a container over a WebSocket (v5.channel.k8s.io): one byte for the channel, then its bytes. */
import type { IncomingMessage } from "node:http";
import { Readable, Writable } from "node:stream";
import { WebSocket } from "ws";
import { type Clock, type Timer, withDeadline } from "../../runtime/clock.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { limits } from "../../runtime/limits.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { objectPath } from "../client/paths.ts";
import { connectionError, malformedAnswer, type Operation, type Peer, refusalError } from "../client/refusal.ts";
import { kinds, objectText } from "../kinds.ts";
import type { ExecOptions, ExecSession, ObjectAt } from "../kube.ts";
import type { AgentPool } from "./agents.ts";
import type { Access, Credentials } from "./credentials.ts";

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;

/** The fifth version can end the input alone; with the fourth the command is never told that no more comes. */
const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

interface ExecDeps {
  readonly credentials: Credentials;
  readonly agents: Pick<AgentPool, "at">;
  readonly clock: Clock;
  /** Aborted when the transport is closed. */
  readonly closing: AbortSignal;
}

export async function exec(at: ObjectAt, options: ExecOptions, deps: ExecDeps): Promise<ExecSession> {
  const { credentials, agents, clock, closing } = deps;
  const asked = { verb: "exec in", resource: objectText(kinds.pod, at) };
  const { signal, deadlineMs = limits.kubeCallMs } = options;
  signal?.throwIfAborted();
  const begunMs = clock.monotonicMs();
  const access = await credentials.current({ signal, answerMs: deadlineMs });
  if (closing.aborted) throw connectionError(closing.reason, asked, access);
  const authorization = access.authorization === undefined ? {} : { authorization: access.authorization };
  const socket = new WebSocket(execUrl(access.server, at, options), protocols, {
    // Of a connection that is paused nothing more is read: Node would else take 64 KB ahead of every slow reader.
    agent: agents.at(access).streams,
    headers: authorization,
    maxPayload: limits.kubeExecMessageBytes,
    perMessageDeflate: false,
  });
  const session = createSession(socket, options, asked, access);
  closing.addEventListener("abort", session.close, { once: true });
  socket.on("close", () => closing.removeEventListener("abort", session.close));
  const late = () => {
    socket.terminate();
    throw connectionError(new Error(`no answer within ${deadlineMs} ms`), asked, access);
  };
  const leftMs = Math.max(0, deadlineMs - (clock.monotonicMs() - begunMs));
  await endedBy(withDeadline(clock, leftMs, opened(socket, asked, access, credentials), late), signal);
  keepAlive(socket, clock);
  return session;
}

function execUrl(server: URL, at: ObjectAt, { command, container, stdin = false, tty = false }: ExecOptions): string {
  const query = new URLSearchParams(command.map((word): [string, string] => ["command", word]));
  if (container !== undefined) query.set("container", container);
  query.set("stdin", String(stdin));
  query.set("stdout", "true");
  query.set("stderr", String(!tty));
  query.set("tty", String(tty));
  const root = server.href.replace(/^http/, "ws").replace(/\/$/, "");
  return `${root}${objectPath(kinds.pod, at)}/exec?${query}`;
}

/** Everything is listened to from the start: the first output may come with the very first packet. */
function createSession(socket: WebSocket, options: ExecOptions, asked: Operation, access: Access): ExecSession {
  const exit = Promise.withResolvers<number>();
  // Who does not ask for the exit code need not hear that there is none.
  exit.promise.catch(() => undefined);
  const stdout = output(socket);
  const stderr = output(socket);
  const end = () => socket.terminate();
  options.signal?.addEventListener("abort", end, { once: true });
  socket.on("message", (data: Buffer) => {
    const rest = data.subarray(1);
    if (data[0] === channels.stdout) deliver(stdout, rest, socket);
    else if (data[0] === channels.stderr) deliver(stderr, rest, socket);
    else if (data[0] === channels.status) exitCodeOf(rest, asked, access).then(exit.resolve, exit.reject);
  });
  socket.on("error", (thrown) => exit.reject(connectionError(thrown, asked, access)));
  socket.on("close", (code) => {
    options.signal?.removeEventListener("abort", end);
    stdout.push(null);
    stderr.push(null);
    const reason = new Error(`the connection ended (${code}) before the command did`);
    exit.reject(connectionError(reason, asked, access));
  });
  return {
    stdin: input(socket),
    stdout,
    stderr,
    resize({ columns, rows }) {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send(frame(channels.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows }))));
    },
    exit: exit.promise,
    close: end,
  };
}

/** How a command ended, as the API tells it. */
interface ExecStatus {
  readonly status?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

async function exitCodeOf(bytes: Buffer, asked: Operation, peer: Peer): Promise<number> {
  const status = parseJson(bytes.toString()) as ExecStatus | undefined;
  if (status === undefined) throw malformedAnswer("no exit status", asked, peer);
  if (status.status === "Success") return 0;
  const cause = status.details?.causes?.find(({ reason }) => reason === "ExitCode");
  if (status.reason === "NonZeroExitCode" && cause?.message !== undefined) return Number(cause.message);
  throw refusalError({ status: status.code ?? 500, body: bytes.toString() }, asked, peer);
}

/** A reader that is slow slows the command down, as a pipe would. Both outputs come one after the other, so one that is not read holds up the other. */
function output(socket: WebSocket): Readable {
  return new Readable({ highWaterMark: limits.kubeExecAheadBytes, read: () => socket.resume() });
}

function deliver(stream: Readable, bytes: Buffer, socket: WebSocket): void {
  if (bytes.length > 0 && !stream.push(bytes)) socket.pause();
}

function input(socket: WebSocket): Writable {
  const stdin = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (socket.readyState !== WebSocket.OPEN) return done(new Error("the command has ended and takes no more input"));
      const pieces = Math.max(1, Math.ceil(chunk.length / limits.kubeExecPieceBytes));
      for (let piece = 0; piece < pieces; piece += 1) {
        const from = piece * limits.kubeExecPieceBytes;
        const bytes = frame(channels.stdin, chunk.subarray(from, from + limits.kubeExecPieceBytes));
        const isLast = piece === pieces - 1;
        socket.send(bytes, (error) => isLast && done(error ?? null));
      }
      return undefined;
    },
    final(done) {
      const canEnd = socket.protocol === protocols[0] && socket.readyState === WebSocket.OPEN;
      if (!canEnd) return done();
      return socket.send(Buffer.of(channels.close, channels.stdin), (error) => done(error ?? null));
    },
  });
  // A command may end before it has read everything, as `head` does. Its exit tells what matters; nobody else need
  // listen, and without a listener the error would end the program.
  stdin.on("error", () => undefined);
  return stdin;
}

function frame(channel: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of(channel), bytes]);
}

function opened(socket: WebSocket, asked: Operation, access: Access, credentials: Credentials): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", (thrown) => reject(connectionError(thrown, asked, access)));
    socket.once("close", () => reject(connectionError(new Error("the connection was closed"), asked, access)));
    socket.once("unexpected-response", (_request, response: IncomingMessage) => {
      const { statusCode: status = 0, headers } = response;
      if (status === 401) credentials.refused();
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        if (body.length < limits.kubeRefusalBytes) body += text;
      });
      response.on("close", () => {
        reject(refusalError({ status, headers, body }, asked, access));
        socket.terminate();
      });
    });
  });
}

/** A peer that is gone without a word does not answer a ping. */
function keepAlive(socket: WebSocket, clock: Clock): void {
  let heard = true;
  let timer: Timer | undefined;
  socket.on("pong", () => {
    heard = true;
  });
  socket.on("message", () => {
    heard = true;
  });
  function beat(): void {
    if (!heard) {
      socket.terminate();
      return;
    }
    // While we do not read, an answer cannot be heard either.
    heard = socket.isPaused;
    socket.ping();
    timer = clock.timer(limits.kubePingMs, beat);
  }
  socket.on("close", () => timer?.cancel());
  timer = clock.timer(limits.kubePingMs, beat);
}
