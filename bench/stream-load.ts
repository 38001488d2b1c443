/**
 * Tenants' streams, in a process of its own: bare TLS sockets on which frames are counted and not looked at, so that the load
 * costs a fraction of what it measures. It runs its parent's commands: reads logs to their end, types into shells, or holds many
 * streams open of which it takes little.
 */
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { requestBytes } from "../test/support/gateway-client.ts";
import { clientFrame, upgradeHeaders } from "../test/support/web-socket-bytes.ts";
import { serveParent } from "./processes.ts";

export interface StreamTarget {
  readonly port: number;
  readonly path: string;
  readonly authorization: string;
}

export type Command = { readonly id: number } & (
  | { readonly what: "logs"; readonly target: StreamTarget; readonly streams: number }
  | { readonly what: "shells"; readonly target: StreamTarget; readonly shells: number; readonly echoes: number }
  /** They are read from now on, each so many bytes in a second. Without any, all are let go. */
  | { readonly what: "slow"; readonly targets: readonly StreamTarget[]; readonly bytesPerS: number }
);

export type Report = { readonly id: number } & (LogsRead | ShellsTyped | SlowlyRead);

export interface LogsRead {
  readonly lines: number;
  /** Of the frames' texts. */
  readonly bytes: number;
  /** From the first byte to the last close frame. */
  readonly ms: number;
}

export interface ShellsTyped {
  /** From the first packet to the first echo. */
  readonly firstMs: readonly number[];
  readonly echoMs: readonly number[];
}

export interface SlowlyRead {
  /** Before anything was let go. */
  readonly open: number;
  /** The first answer that was none. */
  readonly failure: string | undefined;
}

const [text, binary, closing] = [1, 2, 8];

const sendReport = serveParent<Command, Report>(answer);

async function answer(command: Command): Promise<void> {
  const { id } = command;
  if (command.what === "logs") sendReport({ id, ...(await readLogs(command.target, command.streams)) });
  if (command.what === "shells")
    sendReport({ id, ...(await typeIntoShells(command.target, command.shells, command.echoes)) });
  if (command.what === "slow") sendReport({ id, ...(await readSlowly(command.targets, command.bytesPerS)) });
}

/** All at once, each to its end. */
async function readLogs(target: StreamTarget, streams: number): Promise<LogsRead> {
  let [lines, bytes, firstMs] = [0, 0, 0];
  await Promise.all(
    Array.from({ length: streams }, async () => {
      const socket = await openStream(target);
      const { promise, resolve } = Promise.withResolvers<void>();
      onFrames(socket, (type, size) => {
        if (type === closing) resolve();
        if (type !== text) return;
        firstMs ||= performance.now();
        lines += 1;
        bytes += size;
      });
      socket.once("close", resolve);
      await promise;
      socket.destroy();
    }),
  );
  return { lines, bytes, ms: performance.now() - firstMs };
}

/** One after the other; the program in each echoes its input. */
async function typeIntoShells(target: StreamTarget, shells: number, echoes: number): Promise<ShellsTyped> {
  const [firstMs, echoMs]: [number[], number[]] = [[], []];
  for (let shell = 0; shell < shells; shell += 1) {
    const begunMs = performance.now();
    const socket = await openStream(target);
    const ended = once(socket, "close").then(() => Promise.reject(new Error("the shell ended by itself")));
    ended.catch(() => undefined);
    let heard: () => void = () => undefined;
    onFrames(socket, (type) => type === binary && heard());
    const echo = async () => {
      const sentMs = performance.now();
      const { promise, resolve } = Promise.withResolvers<void>();
      heard = resolve;
      // 104 is what is typed.
      socket.write(clientFrame("binary", "hx"));
      await Promise.race([promise, ended]);
      return performance.now() - sentMs;
    };
    await echo();
    firstMs.push(performance.now() - begunMs);
    for (let left = echoes; left > 0; left -= 1) echoMs.push(await echo());
    socket.destroy();
  }
  return { firstMs, echoMs };
}

const held = new Set<TLSSocket>();
/** What a slow reader of a shell types: 64 KB. */
const typed = clientFrame("binary", `h${"x".repeat(4_096)}`);
/** How often a slow reader reads. */
const sipMs = 1_000;

/** Resolves when all are open, or one is not. */
async function readSlowly(targets: readonly StreamTarget[], bytesPerS: number): Promise<SlowlyRead> {
  const open = held.size;
  if (targets.length === 0) {
    for (const socket of held) socket.destroy();
    return { open, failure: undefined };
  }
  let failure: string | undefined;
  for (const target of targets) {
    try {
      const socket = await openStream(target);
      held.add(socket.once("close", () => held.delete(socket)));
      if (target.path.includes("/shell")) for (let left = 16; left > 0; left -= 1) socket.write(typed);
      void sip(socket, bytesPerS);
    } catch (thrown) {
      failure ??= String(thrown);
    }
  }
  return { open: held.size, failure };
}

async function sip(socket: TLSSocket, bytesPerS: number): Promise<void> {
  while (!socket.destroyed) {
    socket.read(Math.min(bytesPerS, socket.readableLength));
    await sleep(realClock, sipMs);
  }
}

async function openStream({ port, path, authorization }: StreamTarget): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  socket.setNoDelay(true);
  socket.on("error", () => undefined);
  socket.write(requestBytes({ path, authorization, headers: upgradeHeaders }));
  let head = Buffer.alloc(0);
  while (!head.includes("\r\n\r\n")) {
    await once(socket, "readable");
    head = Buffer.concat([head, socket.read() ?? Buffer.alloc(0)]);
  }
  if (!head.toString("latin1").startsWith("HTTP/1.1 101 ")) throw new Error(head.toString("latin1"));
  const end = head.indexOf("\r\n\r\n") + 4;
  if (head.length > end) socket.unshift(head.subarray(end));
  return socket;
}

/** Those of a server, which are never masked. */
function onFrames(socket: TLSSocket, onFrame: (type: number, size: number) => void): void {
  let head: Buffer = Buffer.alloc(0);
  let [type, size, left] = [0, 0, -1];
  socket.on("data", (chunk: Buffer) => {
    const bytes = head.length > 0 ? Buffer.concat([head, chunk]) : chunk;
    head = Buffer.alloc(0);
    for (let at = 0; ; ) {
      if (left < 0) {
        const length = bytes[at + 1] ?? 0;
        const start = length === 127 ? 10 : length === 126 ? 4 : 2;
        if (bytes.length - at < start) {
          head = bytes.subarray(at);
          return;
        }
        type = (bytes[at] as number) & 15;
        size =
          length < 126 ? length : length === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
        [left, at] = [size, at + start];
      }
      const taken = Math.min(left, bytes.length - at);
      [left, at] = [left - taken, at + taken];
      if (left > 0) return;
      left = -1;
      onFrame(type, size);
    }
  });
}
