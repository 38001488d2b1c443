/** Runs a command in a container over a WebSocket (v5.channel.k8s.io): one byte for the channel, then its bytes. */
import { Readable, Writable } from "node:stream";
import { WebSocket } from "ws";
import { parseJson } from "../../runtime/parse-json.ts";
import { connectionError, malformedAnswer, type Operation, type Peer, refusalError } from "../client/refusal.ts";
import type { ExecOptions, ExecSession, ObjectAt } from "../kube.ts";
import type { Access } from "./credentials.ts";
import { openPodSocket, type PodSocketDeps, sendPieces } from "./pod-socket.ts";

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;

/** The fifth version can end the input alone; with the fourth the command is never told that no more comes. */
const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

/** Of each output, held for its reader: a reader of one alone still learns that the other has ended after a few words. */
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

/** Everything is listened to from the start: the first output may come with the very first packet. */
function createSession(socket: WebSocket, asked: Operation, access: Access): ExecSession {
  const exit = Promise.withResolvers<number>();
  // Who does not ask for the exit code need not hear that there is none.
  exit.promise.catch(() => undefined);
  const stdout = output(socket);
  const stderr = output(socket);
  const end = () => socket.terminate();
  socket.on("message", (data: Buffer) => {
    const rest = data.subarray(1);
    if (data[0] === channels.stdout) deliver(stdout, rest, socket);
    else if (data[0] === channels.stderr) deliver(stderr, rest, socket);
    else if (data[0] === channels.status) exitCodeOf(rest, asked, access).then(exit.resolve, exit.reject);
  });
  socket.on("error", (thrown) => exit.reject(connectionError(thrown, asked, access)));
  socket.on("close", (code) => {
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
  return new Readable({ highWaterMark: aheadBytes, read: () => socket.resume() });
}

function deliver(stream: Readable, bytes: Buffer, socket: WebSocket): void {
  if (bytes.length > 0 && !stream.push(bytes)) socket.pause();
}

function input(socket: WebSocket): Writable {
  const stdin = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (socket.readyState !== WebSocket.OPEN) return done(new Error("the command has ended and takes no more input"));
      return sendPieces(socket, channels.stdin, chunk, done);
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
