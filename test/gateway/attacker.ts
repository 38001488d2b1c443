/**
 * What unauthenticated clients and a tenant send to make a gateway hold memory, connections or slots. A process of its own, so that its
 * work does not delay those who measure. Parent: `{ attack, size }` opens one, answered when all of it is sent; `{}` ends all.
 */
import { type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import { createSigner } from "../../src/chain/keys/signer.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { tokenOf } from "../support/gateway-tenant.ts";
import { frame } from "../support/grpc-client.ts";
import { clientFrame, upgradeHeaders } from "../support/web-socket-bytes.ts";
import { flags, frameTypes, greeting, headerBlock, rawFrame } from "./raw-http2.ts";

export interface Target {
  readonly restPort: number;
  readonly grpcPort: number;
  /** The attacker's own token and lease. */
  readonly authorization: string;
  readonly leasePath: string;
}

type Attack = (target: Target, size: number) => Promise<unknown>;

const mib = 2 ** 20;
const getStatus = "/akash.provider.v1.ProviderRPC/GetStatus";
const open = new Set<Socket>();
let timer: NodeJS.Timeout | undefined;

function keep<S extends Socket>(socket: S): S {
  open.add(socket);
  socket.on("error", () => undefined).on("close", () => open.delete(socket));
  // Responses are read and discarded.
  socket.resume();
  return socket;
}

/** Of another client than those who measure, and never ended by this side. Resolves also where it is not let in. */
function secure(port: number, protocol?: string, localAddress = "127.0.0.2"): Promise<TLSSocket> {
  const to = { host: "127.0.0.1", port, localAddress, allowHalfOpen: true, rejectUnauthorized: false };
  const socket = keep(connectTls({ ...to, ...(protocol && { ALPNProtocols: [protocol] }) } as ConnectionOptions));
  return settled(socket, "secureConnect", socket);
}

function settled<T>(socket: Socket, event: string, value: T): Promise<T> {
  return new Promise((resolve) => {
    for (const each of [event, "close"]) socket.once(each, () => resolve(value));
  });
}

/** Resolves when the kernel has taken it, or the connection has closed. */
function sent(socket: Socket, bytes: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) return resolve();
    const done = () => {
      socket.off("close", done);
      resolve();
    };
    socket.once("close", done);
    socket.write(bytes, done);
  });
}

async function times<T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  const left = Array.from({ length: count }, (_, n) => n).values();
  await Promise.all(
    Array.from({ length: Math.min(count, 16) }, async () => {
      for (const n of left) made.push(await work(n));
    }),
  );
  return made;
}

async function webSocket({ restPort, authorization }: Target, path: string): Promise<TLSSocket> {
  const socket = await secure(restPort);
  const headers = [["Host", "provider"], ["Authorization", authorization], ...upgradeHeaders];
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const answered = settled(socket, "data", socket);
  socket.write(`GET ${path} HTTP/1.1\r\n${lines}\r\n`);
  return answered;
}

const logs = (target: Target) => webSocket(target, `${target.leasePath}/logs?follow=true`);

async function http2(target: Target, from?: string): Promise<TLSSocket> {
  const socket = await secure(target.grpcPort, "h2", from);
  await sent(socket, Buffer.concat([greeting, rawFrame(frameTypes.settings, 0, 0)]));
  return socket;
}

/** Has so many connections open; those that are closed are begun anew. */
function refill(size: number, begin: (n: number) => void): void {
  let begun = 0;
  const fill = () => {
    for (; open.size < size; begun += 1) begin(begun);
  };
  fill();
  timer = setInterval(fill, 20);
}

/** Calls on a connection of their own. */
async function grpc(target: Target) {
  const socket = await secure(target.grpcPort, "h2");
  const session = connectHttp2("https://provider", { createConnection: () => socket });
  session.on("error", () => undefined);
  const call = (path: string, more: Record<string, string> = {}) => {
    const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers", ...more };
    return session.request(headers, { endStream: false }).on("error", () => undefined);
  };
  return { socket, call };
}

/** Resolves when the bytes are sent, or the call is over; it goes on where it `isWhole` not. */
function send(stream: ClientHttp2Stream, bytes: Uint8Array, isWhole = false): Promise<void> {
  return new Promise((resolve) => {
    // After its answer a call that has more to send does not close by itself.
    for (const end of ["end", "close"]) stream.once(end, resolve);
    stream.resume();
    if (isWhole) stream.end(bytes, () => resolve());
    else stream.write(bytes, () => resolve());
  });
}

const bomb = frame(gzipSync(Buffer.alloc(4 * mib - 16)), 1);

const unknownToken = () => `Bearer ${tokenOf(createSigner(realRandom.bytes(32)))}`;

/** Accounts that the chain does not know, as many as one address may have looked up: its other requests wait for them. */
async function fillLookups({ restPort }: Target, from?: string): Promise<void> {
  const head = () => `GET /lease/1/1/1/status HTTP/1.1\r\nHost: a\r\nAuthorization: ${unknownToken()}\r\n\r\n`;
  for (let n = 0; n < 3; n += 1) {
    await sent(await secure(restPort, undefined, from), Array.from({ length: 16 }, head).join(""));
  }
}

/** Repeats bytes on each connection until it is closed for it or all are sent. */
const flood = (sockets: readonly Socket[], block: Buffer, blocks: number) =>
  Promise.all(
    sockets.map(async (socket) => {
      for (let left = blocks; left > 0 && !socket.destroyed; left -= 1) await sent(socket, block);
    }),
  );

const largeHead = Buffer.of(0x82, 0xff, 0, 0, 0, 0, 0, 0x0f, 0xff, 0xff, 0, 0, 0, 0);

const attacks = {
  headersWithoutBody: (target, size) =>
    times(size, async () => {
      const head = `GET /validate HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(mib - 4_096)}\r\nContent-Length: 1000\r\n\r\n`;
      await sent(await secure(target.restPort), head);
    }),

  /** Of four addresses, sixteen on each connection; they wait for a look-up. */
  longPaths: async (target, size) => {
    const token = unknownToken();
    const path = `/lease/1/1/1/status?${"x".repeat(28 * 1024)}`;
    const requests = `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${token}\r\n\r\n`.repeat(16);
    const addressOf = (n: number) => `127.0.0.${2 + (n % 4)}`;
    await times(4, (n) => fillLookups(target, addressOf(n)));
    await times(size, async (n) => {
      await sent(await secure(target.restPort, undefined, addressOf(n)), requests);
    });
  },

  /** Behind a request that waits for a look-up. */
  unmetExpectations: async (target, size) => {
    await times(6, (n) => fillLookups(target, `127.0.0.${2 + n}`));
    const waits = `GET /lease/1/1/1/status HTTP/1.1\r\nHost: a\r\nAuthorization: ${unknownToken()}\r\n\r\n`;
    const unmet = `GET /validate HTTP/1.1\r\nHost: a\r\nExpect: x\r\nX: ${"x".repeat(28 * 1024)}\r\n\r\n`;
    await times(size, async () => {
      await sent(await secure(target.restPort), waits + unmet.repeat(256));
    });
  },

  /** Of four addresses, on all connections of both ports. */
  unansweredRequests: async (target, size) => {
    const call = rawFrame(frameTypes.headers, flags.endHeaders, 1, headerBlock(getStatus));
    const ask = async (n: number) => {
      const from = `127.0.0.${2 + (n % 4)}`;
      if (n % 10 < 3) await sent(await http2(target, from), call);
      else {
        const socket = await secure(target.restPort, undefined, from);
        await sent(socket, "GET /validate HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
      }
    };
    await times(size, ask);
    refill(size, (n) => void ask(n));
  },

  /** A request within the body of one that would become a WebSocket. */
  upgradesWithBody: (target, size) =>
    times(size, async () => {
      const inner = "GET /address HTTP/1.1\r\nHost: a\r\n\r\n";
      const lines = upgradeHeaders.map(([name, value]) => `${name}: ${value}\r\n`).join("");
      const head = `GET ${target.leasePath}/logs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n${lines}`;
      await sent(await secure(target.restPort), `${head}Content-Length: ${inner.length}\r\n\r\n${inner}`);
    }),

  /** Four kilobytes each that unpack to four megabytes; and the client leaves. */
  compressedMessages: async (target, size) => {
    await times(Math.ceil(size / 256), async () => {
      const { socket, call } = await grpc(target);
      const calls = Array.from({ length: Math.min(size, 256) }, () => {
        const stream = call(getStatus, { "grpc-encoding": "gzip" });
        stream.end(bomb);
        return new Promise((resolve) => stream.once("response", resolve).once("close", resolve));
      });
      await Promise.race(calls);
      socket.destroy();
    });
  },

  /** The same of an account that the chain does not know; they wait for its look-up. */
  compressedOfUnknown: async (target, size) => {
    await fillLookups(target);
    const headers = { authorization: unknownToken(), "grpc-encoding": "gzip" };
    await times(Math.ceil(size / 256), async () => {
      const { call } = await grpc(target);
      await times(Math.min(size, 256), () => {
        return send(call("/akash.provider.lease.v1.LeaseRPC/SendManifest", headers), bomb, true);
      });
    });
  },

  /** Of an account that the chain does not know; each is cancelled while it waits for the look-up. */
  cancelledCalls: async (target, size) => {
    await times(6, (n) => fillLookups(target, `127.0.0.${2 + n}`));
    const { call } = await grpc(target);
    const message = frame(Buffer.alloc(2 * mib));
    for (let left = size; left > 0; left -= 1) {
      const stream = call("/akash.provider.lease.v1.LeaseRPC/SendManifest", { authorization: unknownToken() });
      await send(stream, message, true);
      stream.close();
    }
  },

  largeGrpcHeaders: (target, size) =>
    times(Math.ceil(size / 64), async () => {
      const { call } = await grpc(target);
      await times(Math.min(size, 64), () => send(call(getStatus, { x: "x".repeat(60_000) }), Buffer.of(0)));
    }),

  /** All of a large message but its last byte. */
  unfinishedMessages: (target, size) =>
    times(Math.ceil(size / 64), async () => {
      const { call } = await grpc(target);
      const begun = frame(Buffer.alloc(4 * mib - 16)).subarray(0, -1);
      await times(Math.min(size, 64), () => send(call(getStatus), begun));
    }),

  oneByteRecords: (target, size) =>
    times(size, async () => {
      const socket = (await logs(target)).setNoDelay(true);
      await sent(socket, largeHead);
      // Node would send what waits as one record.
      for (let left = 10_000; left > 0 && !socket.destroyed; left -= 1) await sent(socket, "x");
    }),

  oneByteFragments: (target, size) =>
    times(size, async () => {
      const [first, more] = [Buffer.of(0x02, 0x81, 0, 0, 0, 0, 0), Buffer.of(0x00, 0x81, 0, 0, 0, 0, 0)];
      const socket = await logs(target);
      await sent(socket, Buffer.concat([first, ...Array.from({ length: 15_000 }, () => more)]));
    }),

  unfinishedFrames: (target, size) =>
    times(size, async () => {
      await sent(await logs(target), Buffer.concat([largeHead, Buffer.alloc(mib - 2)]));
    }),

  pings: async (target, size) => {
    const block = Buffer.concat(Array.from({ length: 2_700 }, () => clientFrame("ping", "")));
    await flood(await times(size, () => logs(target)), block, 200);
  },

  emptyFrames: async (target, size) => {
    const block = Buffer.concat(Array.from({ length: 2_700 }, () => clientFrame("text", "")));
    await flood(await times(size, () => logs(target)), block, 200);
  },

  http2Pings: async (target, size) => {
    const ping = rawFrame(frameTypes.ping, 0, 0, Buffer.alloc(8));
    const block = Buffer.concat(Array.from({ length: 1_000 }, () => ping));
    await flood(await times(size, () => http2(target)), block, 200);
  },

  http2Streams: (target, size) =>
    times(size, async () => {
      const socket = await http2(target);
      const calls = Array.from({ length: 256 }, (_, n) =>
        rawFrame(frameTypes.headers, flags.endHeaders, 2 * n + 1, headerBlock(getStatus)),
      );
      await sent(socket, Buffer.concat(calls));
    }),

  streamsToNoLease: (target, size) => times(size, () => webSocket(target, "/lease/999/1/1/logs")),

  /** Of four addresses; each answers pings, as any client does. */
  idleHttp2: (target, size) =>
    times(size, async (n) => {
      const socket = await http2(target, `127.0.0.${2 + (n % 4)}`);
      socket.on("data", (chunk: Buffer) => {
        for (let at = 0; at + 9 <= chunk.length; at += 9 + chunk.readUIntBE(at, 3)) {
          const isPing = chunk[at + 3] === frameTypes.ping && ((chunk[at + 4] ?? 0) & flags.ack) === 0;
          if (isPing) socket.write(rawFrame(frameTypes.ping, flags.ack, 0, chunk.subarray(at + 9, at + 17)));
        }
      });
    }),

  /** Of five addresses. */
  halfOpen: async (target, size) =>
    refill(size, (n) => {
      keep(connectTcp({ host: "127.0.0.1", port: target.restPort, localAddress: `127.0.0.${2 + (n % 5)}` }));
    }),
} satisfies Record<string, Attack>;

export type AttackName = keyof typeof attacks;
export interface Order {
  readonly attack?: AttackName;
  readonly size?: number;
}

if (process.send) {
  const target = JSON.parse(process.argv[2] ?? "{}") as Target;
  process.on("message", async ({ attack, size = 0 }: Order) => {
    if (attack) await attacks[attack](target, size);
    else {
      clearInterval(timer);
      for (const socket of open) socket.destroy();
    }
    process.send?.({ attack, open: open.size });
  });
}
