/** A WebSocket to a pod through the API server: one byte of each message names its channel. */
import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { type Clock, type Timer, withDeadline } from "../../runtime/clock.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { kubeCallMs } from "../../runtime/limits.ts";
import { objectPath } from "../client/paths.ts";
import { connectionError, type Operation, refusalError } from "../client/refusal.ts";
import { kinds, objectText } from "../kinds.ts";
import type { CallOptions, ObjectAt } from "../kube.ts";
import type { AgentPool } from "./agents.ts";
import type { Access, Credentials } from "./credentials.ts";

/** Of one message from the server, which sends output in pieces of 32 KiB. */
const messageBytes = 1024 * 1024;
/** The size of the server's buffers for input. */
const pieceBytes = 32 * 1024;
/** Read of an error response: a message and its causes. */
const errorBytes = 64 * 1024;
/** Between pings on a connection without messages. */
const pingMs = 20_000;

export interface PodSocketDeps {
  readonly credentials: Credentials;
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
  use: (socket: WebSocket, asked: Operation, access: Access) => T,
): Promise<T> {
  const asked = { verb, resource: objectText(kinds.pod, at) };
  signal?.throwIfAborted();
  const begunMs = clock.monotonicMs();
  const access = await credentials.current({ signal, answerMs: deadlineMs });
  if (closing.aborted) throw connectionError(closing.reason, asked, access);
  const authorization = access.authorization === undefined ? {} : { authorization: access.authorization };
  const root = access.server.href.replace(/^http/, "ws").replace(/\/$/, "");
  const socket = new WebSocket(`${root}${objectPath(kinds.pod, at)}/${path}`, [...protocols], {
    // Of a connection that is paused nothing more is read: Node would else take 64 KB ahead of every slow reader.
    agent: agents.at(access).streams,
    headers: authorization,
    maxPayload: messageBytes,
    perMessageDeflate: false,
  });
  const used = use(socket, asked, access);
  const end = () => socket.terminate();
  closing.addEventListener("abort", end, { once: true });
  signal?.addEventListener("abort", end, { once: true });
  socket.on("close", () => {
    closing.removeEventListener("abort", end);
    signal?.removeEventListener("abort", end);
  });
  const late = () => {
    end();
    throw connectionError(new Error(`no answer within ${deadlineMs} ms`), asked, access);
  };
  const leftMs = Math.max(0, deadlineMs - (clock.monotonicMs() - begunMs));
  await endedBy(withDeadline(clock, leftMs, opened(socket, asked, access, credentials), late), signal);
  keepAlive(socket, clock);
  return used;
}

/** Cut into pieces that servers accept; `done` is called after the last. */
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
        if (body.length < errorBytes) body += text;
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
    timer = clock.timer(pingMs, beat);
  }
  socket.on("close", () => timer?.cancel());
  timer = clock.timer(pingMs, beat);
}
