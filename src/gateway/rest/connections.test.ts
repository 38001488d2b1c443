import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { connect, createServer as createTlsServer, type TLSSocket } from "node:tls";
import { makeCertificate } from "../../../test/test-certificate.ts";
import { createVirtualClock } from "../../runtime/clock.ts";
import { presentedCertificates } from "./client-certificates.ts";
import { connectionLimits, createConnections, createRequestBudget } from "./connections.ts";

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

function admitted(from: readonly string[], onIdle?: (socket: Socket) => void) {
  const refusals: string[] = [];
  const clock = createVirtualClock();
  const connections = createConnections({
    ...{
      budget: createRequestBudget(),
      clock,
      onRefusal: (reason) => refusals.push(reason),
      ...(onIdle && { onIdle }),
    },
  });
  const admit = (address: string) => {
    const socket = socketFrom(address);
    const isIn = connections.admit(socket as unknown as Socket);
    const own = socket as unknown as TLSSocket;
    return {
      ...{ socket, isIn },
      hold: () => connections.hold(own),
      begin: () => connections.beginCall(own, 1),
      end: () => connections.endCall(own, 1),
    };
  };
  const all = from.map((address) => {
    const one = admit(address);
    one.hold();
    return one;
  });
  return { connections, refusals, admit, all, clock };
}

test("one address has so many connections, and others are taken all the same", () => {
  const from = Array.from({ length: connectionLimits.perAddress }, () => "192.0.2.1");
  const { connections, refusals, admit, all } = admitted(from);
  assert.deepEqual([admit("192.0.2.1").socket.isEnded, refusals], [true, ["address"]]);
  assert.equal(admit("192.0.2.2").isIn, true);
  all[0]?.socket.destroy();
  assert.equal(admit("192.0.2.1").isIn, true);
  for (const { socket } of all) socket.destroy();
  assert.equal(connections.count, 2);
});

test("when all connections are taken, a new one takes the place of the oldest idle one of the client that has most", async () => {
  const heavy = Array.from({ length: connectionLimits.perAddress }, () => "192.0.2.1");
  const others = Array.from({ length: connectionLimits.secured - heavy.length }, (_, at) => `198.51.${at % 250}.1`);
  const { connections, refusals, admit, all, clock } = admitted([...others, ...heavy]);
  const [first, second, third] = all.slice(others.length);
  // The first has a call, and the second had one later than the third.
  for (const one of [first, second]) one?.begin();
  await clock.advance(1_000);
  second?.end();
  admit("203.0.113.1").hold();
  assert.deepEqual(
    [first, second, third].map((one) => one?.socket.isEnded),
    [false, false, true],
  );
  assert.deepEqual(refusals, ["full"]);
  assert.equal(connections.count, connectionLimits.secured);
  assert.equal(all.filter(({ socket }) => socket.isEnded).length, 1);
});

test("when all connections are taken and have calls, a new one ends", () => {
  const from = Array.from({ length: connectionLimits.secured }, (_, at) => `198.51.${at % 250}.1`);
  const { refusals, admit, all } = admitted(from);
  for (const one of all) one.begin();
  const late = admit("203.0.113.1");
  late.hold();
  assert.deepEqual([late.socket.isEnded, refusals], [true, ["full"]]);
  all[0]?.end();
  const next = admit("203.0.113.1");
  next.hold();
  assert.deepEqual([next.socket.isEnded, all[0]?.socket.isEnded], [false, true]);
});

test("so many are in their handshake, and those who are through do not count", () => {
  const { connections, refusals, admit } = admitted(["192.0.2.1", "192.0.2.2"]);
  const waiting = Array.from({ length: connectionLimits.handshakes }, (_, at) => admit(`198.51.100.${at % 250}`));
  assert(waiting.every(({ isIn }) => isIn));
  assert.equal(admit("203.0.113.1").isIn, false);
  assert.deepEqual(refusals, ["handshakes"]);
  waiting[0]?.hold();
  assert.equal(admit("203.0.113.1").isIn, true);
  for (const { socket } of waiting) socket.destroy();
  assert.equal(connections.count, 3);
});

test("every certificate that a client presents is seen, whether one signed the other or not", async (t) => {
  const [own, authority, self] = ["own", "authority", "self"].map((name) => makeCertificate({ name }));
  assert(own && authority && self);
  const leaf = makeCertificate({ name: "leaf", issuer: authority });
  const asks = { requestCert: true, rejectUnauthorized: false, ca: [] };
  const server = createTlsServer({ cert: own.certPem, key: own.keyPem, ...asks });
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

test("who has a whole network of addresses has no more connections than who has one", () => {
  const from = Array.from({ length: connectionLimits.perAddress }, (_, at) => `2001:db8::${at.toString(16)}`);
  const { refusals, admit } = admitted(from);
  assert.deepEqual([admit("2001:db8::ffff").isIn, refusals], [false, ["address"]]);
  assert.equal(admit("2001:db8:0:1::1").isIn, true);
});
