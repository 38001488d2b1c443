/**
 * Unary gRPC calls as fast as they are answered, over one TLS connection with so many streams at once: frames are put
 * together and looked at by hand, so that the load costs a fraction of what it measures. In a process of its own:
 * `node bench/grpc-load.ts`, commanded by its parent.
 */
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import { serveParent } from "./processes.ts";

export interface GrpcLoad {
  readonly port: number;
  readonly path: string;
  /** At once. */
  readonly streams: number;
  /** Until so many were answered. */
  readonly calls: number;
}

export interface GrpcLoaded {
  readonly perS: number;
  readonly answers: number;
  /** Of the last answer, with all of its frames. */
  readonly answerBytes: number;
}

const frames = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const;
const flags = { ack: 1, endStream: 1, endHeaders: 4 } as const;
const mostWindow = 2 ** 31 - 1;

async function loadGrpc({ port, path, streams, calls }: GrpcLoad): Promise<GrpcLoaded> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  await once(socket, "secureConnect");
  socket.setNoDelay(true);
  const block = headerBlock(port, path);
  const windows = Buffer.alloc(6);
  windows.writeUInt16BE(4, 0);
  windows.writeUInt32BE(mostWindow, 2);
  socket.write(
    Buffer.concat([
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      frame(frames.settings, 0, 0, windows),
      windowUpdate(mostWindow - 65_535),
    ]),
  );
  const startedMs = performance.now();
  const { answers, answerBytes } = await exchange(socket, block, streams, calls);
  const seconds = (performance.now() - startedMs) / 1_000;
  socket.destroy();
  return { perS: answers / seconds, answers, answerBytes };
}

function exchange(socket: TLSSocket, block: Buffer, streams: number, calls: number) {
  return new Promise<{ answers: number; answerBytes: number }>((resolve, reject) => {
    let next = 1;
    let [answers, begun, taken, answerBytes] = [0, 0, 0, 0];
    let pending: Buffer = Buffer.alloc(0);
    const empty = Buffer.alloc(5);
    const call = () => {
      begun += 1;
      const id = next;
      next += 2;
      return [frame(frames.headers, flags.endHeaders, id, block), frame(frames.data, flags.endStream, id, empty)];
    };
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the connection was closed")));
    socket.on("data", (chunk: Buffer) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      const out: Buffer[] = [];
      let at = 0;
      while (pending.length - at >= 9) {
        const length = pending.readUIntBE(at, 3);
        if (pending.length - at < 9 + length) break;
        const [type, flag] = [pending[at + 3], pending[at + 4] as number];
        if (type === frames.data) {
          taken += length;
          answerBytes = length;
        }
        if (type === frames.headers && flag & flags.endStream) {
          answers += 1;
          if (begun < calls) out.push(...call());
        }
        if (type === frames.settings && !(flag & flags.ack)) out.push(frame(frames.settings, flags.ack, 0));
        if (type === frames.ping && !(flag & flags.ack))
          out.push(frame(frames.ping, flags.ack, 0, pending.subarray(at + 9, at + 17)));
        if (type === frames.reset || type === frames.goAway) reject(new Error(`frame of type ${type}`));
        at += 9 + length;
      }
      pending = pending.subarray(at);
      if (taken > 2 ** 20) {
        out.push(windowUpdate(taken));
        taken = 0;
      }
      if (out.length > 0) socket.write(Buffer.concat(out));
      if (answers >= calls) resolve({ answers, answerBytes });
    });
    socket.write(Buffer.concat(Array.from({ length: Math.min(streams, calls) }, call).flat()));
  });
}

function frame(type: number, flag: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flag;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function windowUpdate(bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(frames.windowUpdate, 0, 0, payload);
}

/** Each header as a literal without indexing; names and values are short ASCII. */
function headerBlock(port: number, path: string): Buffer {
  const headers = [
    [":method", "POST"],
    [":scheme", "https"],
    [":path", path],
    [":authority", `127.0.0.1:${port}`],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ["user-agent", "grpc-go/1.71.0"],
  ];
  const text = (value: string) => Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
  return Buffer.concat(headers.flatMap(([name = "", value = ""]) => [Buffer.of(0), text(name), text(value)]));
}

const sendReport = serveParent<GrpcLoad, GrpcLoaded>(async (command) => {
  sendReport(await loadGrpc(command));
});
