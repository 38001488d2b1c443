/**
 * Streams with the habits of the network's own tools: nothing but pings keeps one alive, for 15 s each; an end without a close frame
 * is an error; and of a shell nothing is read after its result.
 */
import type { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import type { Clock } from "../../src/runtime/clock.ts";

/** Set when it connects, and again by every ping; by data it is not. */
const deadlineMs = 15_000;

export interface NetworkStream {
  /** What has come so far. */
  readonly frames: readonly Buffer[];
  readonly pings: number;
  send(bytes: Uint8Array): void;
  /** Resolves when the provider has said that this was all. */
  readonly over: Promise<void>;
  leave(): void;
}

interface StreamOptions {
  readonly socket: TLSSocket;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly onFrame?: (bytes: Buffer, stream: NetworkStream) => void;
}

export async function openNetworkStream({
  socket,
  path,
  headers,
  clock,
  onFrame,
}: StreamOptions): Promise<NetworkStream> {
  // The library adds no TLS to what is TLS already, and offers compression by default: these tools do not.
  const webSocket = new WebSocket(`ws://${headers["host"]}${path}`, {
    ...{ headers, perMessageDeflate: false, createConnection: () => socket },
  });
  const frames: Buffer[] = [];
  const over = Promise.withResolvers<void>();
  over.promise.catch(() => undefined);
  const late = () => {
    over.reject(new Error("i/o timeout"));
    webSocket.terminate();
  };
  let deadline = clock.timer(deadlineMs, late);
  let pings = 0;
  const stream: NetworkStream = {
    frames,
    get pings() {
      return pings;
    },
    over: over.promise,
    send: (bytes) => webSocket.send(bytes),
    leave: () => webSocket.close(1000),
  };
  webSocket.on("ping", () => {
    pings += 1;
    deadline.cancel();
    deadline = clock.timer(deadlineMs, late);
  });
  webSocket.on("message", (bytes: Buffer) => {
    frames.push(bytes);
    onFrame?.(bytes, stream);
  });
  webSocket.on("close", (code, reason) => {
    deadline.cancel();
    if (code === 1000) over.resolve();
    else over.reject(new Error(code === 1006 ? "close 1006: unexpected EOF" : `close ${code}: ${reason}`));
  });
  await new Promise<void>((resolve, reject) => {
    webSocket.once("open", resolve).once("error", reject);
    webSocket.once("unexpected-response", (_, { statusCode }) => reject(new Error(`bad handshake: ${statusCode}`)));
  });
  webSocket.on("error", over.reject);
  return stream;
}

export interface ShellEnd {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

const [stdout, stderr, result, failure] = [100, 101, 102, 103];

/** Throws as the CLI does where the provider could not run it. */
export async function readShell(open: (onFrame: NonNullable<StreamOptions["onFrame"]>) => Promise<NetworkStream>) {
  const end = Promise.withResolvers<Buffer>();
  const said = { [stdout as number]: "", [stderr as number]: "" };
  const stream = await open(([channel = 0, ...rest]) => {
    const bytes = Buffer.from(rest);
    if (channel === result) end.resolve(bytes);
    else if (channel === failure) end.reject(new Error("lease shell failed: unknown error"));
    else said[channel] += bytes.toString();
  });
  stream.over.then(
    () => end.reject(new Error("close 1000 before a result")),
    (thrown) => end.reject(thrown),
  );
  const bytes = await end.promise;
  if (bytes.at(-1) !== 10) throw new Error("a result ends with a line feed");
  const { exit_code: code, message } = JSON.parse(bytes.toString());
  if (message) throw new Error(`lease shell failed: ${message}`);
  stream.leave();
  return { stdout: said[stdout as number] ?? "", stderr: said[stderr as number] ?? "", code } as ShellEnd;
}
