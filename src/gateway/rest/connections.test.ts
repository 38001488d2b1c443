import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { connect, createServer as createTlsServer, type TLSSocket } from "node:tls";
import { makeCertificate } from "../../../test/support/test-certificate.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { gatewayGrpcRequestBytes } from "../grpc/grpc-gateway.ts";
import { connectionLimits, createConnections, createRequestBudget, gatewayHeaderMs } from "./connections.ts";
import { presentedCertificates } from "./rate-limit-key.ts";

/** What is counted here needs no more of a connection than where it comes from and that it ends. */
function socketFrom(remoteAddress: string) {
  const endings: (() => void)[] = [];
  let isEnded = false;
  return {
    remoteAddress,
    once: (_event: "close", ended: () => void) => void endings.push(ended),
    destroy() {
      isEnded = true;
      for (const ended of endings.splice(0)) ended();
    },
    get isEnded() {
      return isEnded;
    },
  };
}

function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `198.51.${at >> 8}.${at & 255}`);
}

function admitted(from: readonly string[], onIdle?: (socket: Socket) => void) {
  const rejections: string[] = [];
  const clock = createVirtualClock();
  const budget = createRequestBudget();
  const connections = createConnections({
    ...{
      protocol: "rest",
      budget,
      clock,
      onRejection: (reason) => rejections.push(reason),
      ...(onIdle && { onIdle }),
    },
  });
  const admit = (address: string) => {
    const socket = socketFrom(address);
    const isIn = connections.admit(socket as unknown as Socket);
    const own = socket as unknown as TLSSocket;
    let end: ReturnType<typeof connections.beginCall>;
    return {
      ...{ socket, isIn },
      hold: () => connections.hold(own, own),
      begin(bytes = 1) {
        end = connections.beginCall(own, bytes);
      },
      end: () => end?.(),
    };
  };
  const all = from.map((address) => {
    const one = admit(address);
    one.hold();
    return one;
  });
  return { connections, rejections, admit, all, clock, budget };
}

test("connections per address are limited, other addresses still connect", () => {
  const from = Array.from({ length: connectionLimits.perAddress }, () => "192.0.2.1");
  const { connections, rejections, admit, all } = admitted(from);
  assert.deepEqual([admit("192.0.2.1").socket.isEnded, rejections], [true, ["address"]]);
  assert.equal(admit("192.0.2.2").isIn, true);
  all[0]?.socket.destroy();
  assert.equal(admit("192.0.2.1").isIn, true);
  for (const { socket } of all) socket.destroy();
  assert.equal(connections.count, 2);
});

test("all connections in use → a new one replaces the oldest idle one of the client that has most", async () => {
  const heavy = Array.from({ length: connectionLimits.perAddress }, () => "192.0.2.1");
  const others = Array.from(
    { length: connectionLimits.secured.rest - heavy.length },
    (_, at) => `198.51.${at % 250}.1`,
  );
  const { connections, rejections, admit, all, clock } = admitted([...others, ...heavy]);
  const [first, second, third] = all.slice(others.length);
  // The first has a call, and the second had one later than the third.
  for (const one of [first, second]) one?.begin();
  await clock.advance(1_000);
  second?.end();
  await clock.advance(gatewayHeaderMs + 1);
  admit("203.0.113.1").hold();
  assert.deepEqual(
    [first, second, third].map((one) => one?.socket.isEnded),
    [false, false, true],
  );
  assert.deepEqual(rejections, ["full"]);
  assert.equal(connections.count, connectionLimits.secured.rest);
  assert.equal(all.filter(({ socket }) => socket.isEnded).length, 1);
});

test("all connections busy → replaces the oldest of a client that has more, never of one that has fewer", async () => {
  const [one, other] = ["192.0.2.1", "192.0.2.2"].map((address) =>
    Array.from({ length: connectionLimits.secured.rest / 2 }, () => address),
  );
  const { rejections, admit, all, clock } = admitted([...(one ?? []), ...(other ?? []).slice(1)]);
  for (const each of all) each.begin();
  const open = (address: string) => {
    const made = admit(address);
    made.hold();
    return made;
  };
  // Not idle: its request is still to come.
  const first = open("203.0.113.1");
  const second = open("203.0.113.2");
  assert.deepEqual([first.socket.isEnded, second.socket.isEnded, all[0]?.socket.isEnded], [false, false, true]);
  assert.equal(open("192.0.2.2").socket.isEnded, true);
  assert.deepEqual(rejections, ["full", "full"]);
  await clock.advance(gatewayHeaderMs + 1);
  assert.equal(open("192.0.2.2").socket.isEnded, true);
  assert.equal(first.socket.isEnded, false);
});

test("one busy connection per client → a new one is rejected", () => {
  const { rejections, admit, all } = admitted(addresses(connectionLimits.secured.rest));
  for (const one of all) one.begin();
  const late = admit("203.0.113.1");
  late.hold();
  assert.deepEqual([late.socket.isEnded, rejections], [true, ["full"]]);
});

test("connections that became streams make room too, after all others", () => {
  const streams = Array.from({ length: connectionLimits.secured.rest - 1 }, (_, at) => `198.51.100.${at % 4}`);
  const { connections, admit, all } = admitted([...streams, ...addresses(2)].slice(0, connectionLimits.secured.rest));
  for (const { socket } of all.slice(0, -1)) connections.handOver(socket as unknown as Socket);
  all.at(-1)?.begin();
  admit("203.0.113.1").hold();
  assert.deepEqual([all[0]?.socket.isEnded, all.at(-1)?.socket.isEnded], [true, false]);
});

test("all handshakes in use → a new one replaces the oldest of the client that has most", async () => {
  const { connections, rejections, admit, clock } = admitted(["192.0.2.1", "192.0.2.2"]);
  const waiting = Array.from({ length: connectionLimits.handshakes }, (_, at) => admit(`198.51.100.${at % 4}`));
  assert(waiting.every(({ isIn }) => isIn));
  await clock.advance(1);
  const tenant = admit("203.0.113.1");
  assert.deepEqual([tenant.isIn, waiting[0]?.socket.isEnded, rejections], [true, true, ["handshakes"]]);
  // Of these clients each has its own number, or one less and takes from the others.
  const again = Array.from({ length: 8 }, (_, n) => admit(`198.51.100.${n % 4}`));
  assert.equal(tenant.socket.isEnded, false);
  tenant.hold();
  assert.equal(admit("203.0.113.1").isIn, true);
  for (const { socket } of [...waiting, ...again]) socket.destroy();
  assert.equal(connections.count, 4);
});

test("handshakes per client are limited", () => {
  const { rejections, admit } = admitted([]);
  const waiting = Array.from({ length: connectionLimits.handshakesPerAddress }, () => admit("192.0.2.1"));
  assert.deepEqual([admit("192.0.2.1").isIn, rejections], [false, ["handshakes"]]);
  waiting[0]?.hold();
  assert.equal(admit("192.0.2.1").isIn, true);
});

test("the headers of a call count until it is over, also where its connection ended before", () => {
  const { all, budget } = admitted(["203.0.113.1"]);
  const [one] = all;
  one?.begin(1_000);
  assert.equal(budget.anonymous.used, 1_000);
  one?.socket.destroy();
  assert.equal(budget.anonymous.used, 1_000);
  one?.end();
  assert.equal(budget.anonymous.used, 0);
});

test("presented certificates are read, whether one signed the other or not", async (t) => {
  const [own, authority, self] = ["own", "authority", "self"].map((name) => makeCertificate({ name }));
  assert(own && authority && self);
  const leaf = makeCertificate({ name: "leaf", issuer: authority });
  const tls = { requestCert: true, rejectUnauthorized: false, ca: [] };
  const server = createTlsServer({ cert: own.certPem, key: own.keyPem, ...tls });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  async function seen(cert?: string, key?: string): Promise<number> {
    const accepted = new Promise<TLSSocket>((resolve) => server.once("secureConnection", resolve));
    const client = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...(cert && { cert, key }) });
    client.on("error", () => undefined);
    const socket = await accepted;
    const certificates = presentedCertificates(socket);
    assert.equal(presentedCertificates(socket), certificates);
    client.destroy();
    return certificates.length;
  }
  assert.equal(await seen(), 0);
  assert.equal(await seen(self.certPem, self.keyPem), 1);
  assert.equal(await seen(leaf.certPem + authority.certPem, leaf.keyPem), 2);
  assert.equal(await seen(self.certPem + authority.certPem, self.keyPem), 2);
});

test("four clients that hold all they may leave room for another's largest compressed call", () => {
  const budget = createRequestBudget().accounts;
  for (let n = 0; n < 4; n += 1) {
    for (let bytes = 2 ** 25; bytes > 1; bytes /= 2) while (budget.reserve(`${n}`, bytes));
  }
  assert.equal(budget.reserve("tenant", gatewayGrpcRequestBytes), true);
});

test("addresses of one IPv6 /64 share a connection limit", () => {
  const from = Array.from({ length: connectionLimits.perAddress }, (_, at) => `2001:db8::${at.toString(16)}`);
  const { rejections, admit } = admitted(from);
  assert.deepEqual([admit("2001:db8::ffff").isIn, rejections], [false, ["address"]]);
  assert.equal(admit("2001:db8:0:1::1").isIn, true);
});
