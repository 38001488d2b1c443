/**
 * The load on a gateway, in a process of its own: connections that are kept, on each one request after the other, over bare
 * TLS sockets. It runs its parent's commands and reports the latency of every answer.
 */
import { connect, type TLSSocket } from "node:tls";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { serveParent } from "./processes.ts";

export interface Target {
  readonly port: number;
  readonly servername?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface Load {
  readonly target: Target;
  /** The whole of it, as it is sent. */
  readonly request: string;
  readonly connections: number;
  readonly ms: number;
  /** Each connection waits so long between an answer and its next request. */
  readonly pauseMs?: number;
}

export interface Loaded {
  readonly answers: number;
  readonly perS: number;
  /** Of every answer. */
  readonly latenciesMs: Float64Array;
  /** Answers other than 200; the first of them. */
  readonly failures: number;
  readonly failure: string | undefined;
}

export type Command =
  | ({ readonly what: "load"; readonly id: number } & Load)
  | {
      readonly what: "handshakes";
      readonly id: number;
      readonly target: Target;
      readonly atOnce: number;
      readonly ms: number;
    };

export type Report =
  | ({ readonly what: "loaded"; readonly id: number } & Loaded)
  | { readonly what: "handshaken"; readonly id: number; readonly perS: number };

const sendReport = serveParent<Command, Report>(answer);

async function answer(command: Command): Promise<void> {
  if (command.what === "load") sendReport({ what: "loaded", id: command.id, ...(await load(command)) });
  if (command.what === "handshakes")
    sendReport({ what: "handshaken", id: command.id, perS: await handshakes(command) });
}

async function load({ target, request, connections, ms, pauseMs = 0 }: Load): Promise<Loaded> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(target)));
  const bytes = Buffer.from(request, "latin1");
  const latencies: number[] = [];
  const failures: string[] = [];
  const startedMs = performance.now();
  const untilMs = startedMs + ms;
  await Promise.all(
    sockets.map(async (socket) => {
      const ask = asker(socket);
      while (performance.now() < untilMs) {
        const sentMs = performance.now();
        const failure = await ask(bytes);
        latencies.push(performance.now() - sentMs);
        if (failure !== undefined) failures.push(failure);
        if (pauseMs > 0) await sleep(realClock, pauseMs);
      }
    }),
  );
  const seconds = (performance.now() - startedMs) / 1_000;
  for (const socket of sockets) socket.destroy();
  return {
    answers: latencies.length,
    perS: latencies.length / seconds,
    latenciesMs: Float64Array.from(latencies),
    failures: failures.length,
    failure: failures[0],
  };
}

/** One request and its answer at a time; what is wrong with the answer, if anything is. */
function asker(socket: TLSSocket): (request: Uint8Array) => Promise<string | undefined> {
  let answered: ((failure: string | undefined) => void) | undefined;
  let head = "";
  let left = -1;
  socket.on("close", () => answered?.("the connection was closed"));
  socket.on("data", (chunk: Buffer) => {
    if (left < 0) {
      const end = chunk.indexOf("\r\n\r\n");
      // A head that comes in two pieces does not happen on loopback.
      head = chunk.toString("latin1", 0, end);
      const at = head.indexOf("ontent-Length: ");
      left = end < 0 || at < 0 ? 0 : Number.parseInt(head.slice(at + 15), 10) - (chunk.length - end - 4);
    } else left -= chunk.length;
    if (left > 0) return;
    left = -1;
    answered?.(head.startsWith("HTTP/1.1 200 ") ? undefined : head.slice(0, 100));
  });
  return (request) =>
    new Promise((resolve) => {
      answered = resolve;
      socket.write(request);
    });
}

/** Whole ones, none resumed. */
async function handshakes({ target, atOnce, ms }: Extract<Command, { what: "handshakes" }>): Promise<number> {
  let count = 0;
  const startedMs = performance.now();
  const untilMs = startedMs + ms;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() < untilMs) {
        (await open(target)).destroy();
        count += 1;
      }
    }),
  );
  return (count * 1_000) / (performance.now() - startedMs);
}

function open(target: Target): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", rejectUnauthorized: false, minVersion: "TLSv1.3", ...target });
    socket.setNoDelay(true);
    socket.once("secureConnect", () => resolve(socket)).on("error", reject);
  });
}
