import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { eventually } from "../../../test/support/eventually.ts";
import {
  connectGateway,
  connectPlain,
  exchange,
  requestBytes,
  requestOn,
  sendRequest,
} from "../../../test/support/gateway-client.ts";
import { binaryProxyHeader, connectThrough, textProxyHeader } from "../../../test/support/proxy-headers.ts";
import { runs } from "../../../test/support/runs.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { makeCertificate } from "../../../test/support/test-certificate.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import { ByteBudget, type RequestBudget } from "../../runtime/byte-budget.ts";
import { realClock } from "../../runtime/clock.ts";
import { silentLog } from "../../runtime/log.ts";
import type { CallerIdentity } from "../auth/identity.ts";
import type { CertificateSource } from "../certificate/file-certificate.ts";
import { empty, json, type RestAnswer } from "./answer.ts";
import { connectionLimits, createRequestBudget, gatewayPipelined, gatewayStalledMs } from "./connections.ts";
import { gatewayHandshakeMs, gatewayHelloBytes } from "./first-bytes.ts";
import type { ProxyOptions } from "./rate-limit-key.ts";
import { createRest, gatewayAnswerMs } from "./rest.ts";
import type { PublicRoute } from "./route.ts";
import { gatewayDrainMs, startRestServer } from "./server.ts";

const publicHost = "provider.example.com";
const anonymous: CallerIdentity = {
  ...{ owner: undefined, mayUseProvider: false, untilMs: undefined },
  ...{ mayUseDeployment: () => false, mayUseLease: () => false, servicesOf: () => undefined },
};

/** A source whose certificate a test changes. */
function changing(name?: string) {
  const listeners: (() => void)[] = [];
  let current = name === undefined ? undefined : servedFor(name);
  const source: CertificateSource = {
    get current() {
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
  };
  const change = (to: CertificateWithKey | undefined) => {
    current = to;
    for (const listener of listeners) listener();
  };
  return { ...{ source, change }, changeTo: (to: string) => change(servedFor(to)) };
}

function servedFor(name: string): CertificateWithKey {
  const { certPem, keyPem } = makeCertificate({ name });
  return { certificate: certPem, key: keyPem };
}

function route(path: string, handle: PublicRoute["handle"], body?: PublicRoute["body"]): PublicRoute {
  const about = { about: "", answers: {} };
  return { method: body ? "PUT" : "GET", path, access: "public", ...about, handle, ...(body && { body }) };
}

const large = "x".repeat(8 * 2 ** 20);

interface ServeOptions {
  readonly own?: ReturnType<typeof changing>;
  readonly open?: ReturnType<typeof changing>;
  readonly routes?: readonly PublicRoute[];
  readonly budget?: RequestBudget;
  readonly proxies?: ProxyOptions;
}

async function serve(t: TestContext, options: ServeOptions = {}) {
  const { own = changing("own"), open = changing(), routes = [], budget = createRequestBudget() } = options;
  const clock = createVirtualClock();
  const counted: string[] = [];
  const sources: string[] = [];
  const rest = createRest({
    routes: [
      route("/hello", () => json("{}")),
      route("/large", () => json(large)),
      route("/size", ({ body }) => json(`${body.length}`), { types: [], mostBytes: 1_000 }),
      ...routes,
    ],
    authenticator: {
      identify({ source }) {
        sources.push(source);
        return anonymous;
      },
    },
    ...{ budget, clock, log: silentLog },
  });
  const server = await startRestServer({
    listen: { host: "127.0.0.1", port: 0 },
    certificates: { own: own.source, public: open.source },
    ...{ ...options.proxies, publicHost, rest, budget, clock, log: silentLog },
    onHandshakeFailure: (reason) => counted.push(reason),
    onRejection: (reason) => counted.push(reason),
  });
  // Also ends requests that a failed test has left open.
  t.after(() => Promise.all([server.close(), clock.advance(gatewayDrainMs)]));
  return { server, port: server.port, clock, counted, sources };
}

async function shownBy(port: number, servername?: string): Promise<string> {
  const socket = await connectGateway({ port, servername });
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

test("a certificate that changes is shown to the next client, and connections of before go on", async (t) => {
  const own = changing("first");
  const { port } = await serve(t, { own });
  const before = await connectGateway({ port });
  own.changeTo("second");
  assert.equal(await shownBy(port), "second");
  assert.equal((await requestOn(before, { path: "/hello" })).status, 200);
  before.destroy();
  // One that cannot be read leaves the last good one.
  own.change({ certificate: "nonsense", key: "nonsense" });
  assert.equal(await shownBy(port), "second");
});

test("without a certificate of ours handshakes end with an alert, except for the public name with its own", async (t) => {
  const [own, open] = [changing(), changing(publicHost)];
  const { port, counted } = await serve(t, { own, open });
  await assert.rejects(connectGateway({ port }), /alert number 80/);
  assert.equal(await shownBy(port, publicHost), publicHost);
  assert.deepEqual(counted, ["no_certificate"]);
  own.changeTo("own");
  assert.equal(await shownBy(port), "own");
  open.change(undefined);
  assert.equal(await shownBy(port, publicHost), "own");
});

test("TLS session of one server name is not resumed at the other", async (t) => {
  const { port } = await serve(t, { open: changing(publicHost) });
  async function sessionOf(servername?: string): Promise<Buffer> {
    const socket = await connectGateway({ port, servername });
    const [[session]] = await Promise.all([once(socket, "session"), requestOn(socket, { path: "/hello" })]);
    socket.destroy();
    return session as Buffer;
  }
  async function isResumed(session: Buffer, servername?: string): Promise<boolean> {
    const socket = await connectGateway({ port, servername, tls: { session } });
    const isReused = socket.isSessionReused();
    socket.destroy();
    return isReused;
  }
  const [own, open] = [await sessionOf(), await sessionOf(publicHost)];
  assert.deepEqual(await Promise.all([isResumed(own), isResumed(open, publicHost)]), [true, true]);
  assert.deepEqual(await Promise.all([isResumed(own, publicHost), isResumed(open)]), [false, false]);
});

test("a body is read up to its bound, however it is framed, and what is too large is not waited for", async (t) => {
  const { port } = await serve(t);
  const send = (body: string, headers: [string, string][] = []) =>
    sendRequest({ port }, { method: "PUT", path: "/size", body, headers });
  assert.equal((await send("x".repeat(1_000))).body, "1000");
  const chunked = [["Transfer-Encoding", "chunked"]] as [string, string][];
  assert.equal((await send("3\r\nabc\r\n0\r\n\r\n", chunked)).body, "3");
  const tooLarge = await send("x".repeat(1_001));
  assert.deepEqual([tooLarge.status, tooLarge.body], [413, "http: request body too large\n"]);
  assert.equal((await send(`400\r\n${"x".repeat(1_024)}\r\n`, chunked)).status, 413);
  const huge = await send("x", [["Content-Length", "1000000000"]]);
  assert.deepEqual([huge.status, huge.header("Connection")], [413, "close"]);
  const socket = await connectGateway({ port });
  const upload = { method: "PUT", path: "/size", body: "x".repeat(1_001) };
  assert.equal((await requestOn(socket, upload)).status, 413);
  assert.equal((await requestOn(socket, { ...upload, body: "abc" })).body, "3");
  socket.destroy();
});

test("headers above the limit → 431, however many more follow", async (t) => {
  const { port, counted } = await serve(t);
  for (const bytes of [64 * 1024, 128 * 1024]) {
    const headers = [["a", "x".repeat(bytes)]] as const;
    assert.equal((await sendRequest({ port }, { path: "/hello", headers })).status, 431);
  }
  assert.deepEqual(counted, ["headers_too_large", "headers_too_large"]);
});

test("requests whose bodies never come hold a bounded number of bytes for each client and in total, headers included", async (t) => {
  const anonymous = new ByteBudget({ perClient: 110_000, total: 220_000, assured: 10_000 });
  const budget = { ...createRequestBudget(), anonymous };
  const { port, counted } = await serve(t, { budget });
  const opened: Socket[] = [];
  const headers = [["X", "x".repeat(20_000)] as const, ["Content-Length", "1000"] as const];
  const bytes = requestBytes({ method: "PUT", path: "/size", headers });
  const begin = async (localAddress: string) => {
    const socket = await connectGateway({ port, tls: { localAddress } as object });
    opened.push(socket);
    return exchange(socket, bytes, (sofar) => sofar.includes("\r\n\r\n"));
  };
  const ofOne = Array.from({ length: 8 }, () => begin("127.0.0.2"));
  await eventually("four of them to be rejected", () => counted.length === 4);
  assert.match((await Promise.race(ofOne)).toString(), /^HTTP\/1.1 429 Too Many Requests/);
  assert(budget.anonymous.used > 80_000 && budget.anonymous.used < 110_000, `${budget.anonymous.used}`);
  const ofOther = Array.from({ length: 8 }, () => begin("127.0.0.3"));
  await eventually("the total to be used up", () => counted.length === 10);
  assert(budget.anonymous.used < 220_000, `${budget.anonymous.used}`);
  assert.deepEqual(new Set(counted), new Set(["bytes"]));
  assert.equal((await sendRequest({ port }, { path: "/hello" })).status, 200);
  for (const socket of opened) socket.destroy();
  await Promise.all([...ofOne, ...ofOther]);
  await eventually("all to be released", () => budget.anonymous.used === 0);
});

test("the path of a request counts towards the bytes that a client's requests may hold", async (t) => {
  const budget = createRequestBudget();
  const done = Promise.withResolvers<RestAnswer>();
  const { port } = await serve(t, { budget, routes: [route("/waits", () => done.promise)] });
  const socket = await connectGateway({ port });
  socket.write(requestBytes({ path: `/waits?${"x".repeat(20_000)}` }));
  await eventually("its request", () => budget.anonymous.used > 0);
  assert(budget.anonymous.used > 20_000, `${budget.anonymous.used}`);
  done.resolve(empty(200));
  await eventually("it to be released", () => budget.anonymous.used === 0);
  socket.destroy();
});

test("a request that waits counts until its work is done, also where its client has left", async (t) => {
  const budget = createRequestBudget();
  const done = Promise.withResolvers<RestAnswer>();
  const { port, server } = await serve(t, { budget, routes: [route("/waits", () => done.promise)] });
  const [one, other] = await Promise.all([connectGateway({ port }), connectGateway({ port })]);
  for (const socket of [one, other]) socket.write(requestBytes({ path: "/waits" }).toString().repeat(2));
  await eventually("their requests", () => budget.anonymous.used > 16_000);
  const before = budget.anonymous.used;
  one.destroy();
  await eventually("its end", () => server.connections === 1);
  assert.equal(budget.anonymous.used, before);
  done.resolve(empty(200));
  await eventually("all to be released", () => budget.anonymous.used === 0);
  other.destroy();
});

test("requests with an expectation that is not met count as others do", async (t) => {
  const budget = createRequestBudget();
  const done = Promise.withResolvers<RestAnswer>();
  const { port, counted } = await serve(t, { budget, routes: [route("/waits", () => done.promise)] });
  const headers = [["Expect", "more"] as const];
  assert.equal((await sendRequest({ port }, { path: "/hello", headers })).status, 417);
  const socket = await connectGateway({ port });
  const unmet = requestBytes({ path: "/hello", headers }).toString();
  await exchange(socket, requestBytes({ path: "/waits" }) + unmet.repeat(gatewayPipelined));
  assert.deepEqual(counted, ["pipelined"]);
  done.resolve(empty(200));
  await eventually("all to be released", () => budget.anonymous.used === 0);
});

test("a client that waits for leave to send its body is given it", async (t) => {
  const { port } = await serve(t);
  const socket = await connectGateway({ port });
  const head = "PUT /size HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
  const leave = await exchange(socket, head, (sofar) => sofar.includes("\r\n\r\n"));
  assert.equal(leave.toString(), "HTTP/1.1 100 Continue\r\n\r\n");
  const answer = await exchange(socket, "abc", (sofar) => sofar.includes("\r\n\r\n3"));
  assert.match(answer.toString(), /^HTTP\/1\.1 200 OK/);
  socket.destroy();
});

test("handler that fails or hangs affects only its client", async (t) => {
  const forever = new Promise<RestAnswer>(() => undefined);
  const ended: string[] = [];
  const { port, clock } = await serve(t, {
    routes: [
      route("/throws", () => {
        throw new Error("a secret of the program");
      }),
      route("/rejects", () => Promise.reject(new TypeError("odd"))),
      route("/forever", ({ signal }) => {
        signal.addEventListener("abort", () => ended.push("aborted"));
        return forever;
      }),
    ],
  });
  const thrown = await sendRequest({ port }, { path: "/throws" });
  assert.deepEqual([thrown.status, thrown.body], [500, "internal error\n"]);
  assert.equal((await sendRequest({ port }, { path: "/rejects" })).status, 500);
  const socket = await connectGateway({ port });
  const waiting = requestOn(socket, { path: "/forever" });
  await eventually("a timer", async () => {
    await clock.advance(gatewayAnswerMs / 2);
    return ended.length > 0;
  });
  assert.deepEqual([(await waiting).status, ended], [500, ["aborted"]]);
  socket.destroy();
  assert.equal((await sendRequest({ port }, { path: "/hello" })).status, 200);
});

test("client leaves → the handler's signal aborts", async (t) => {
  const left = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const { port } = await serve(t, {
    routes: [
      route("/wait", async ({ signal }) => {
        signal.addEventListener("abort", () => left.resolve());
        arrived.resolve();
        await left.promise;
        return empty(200);
      }),
    ],
  });
  const socket = await connectGateway({ port });
  socket.write(requestBytes({ path: "/wait" }));
  await arrived.promise;
  socket.destroy();
  await left.promise;
});

test("a client that does not take its answer loses its connection, and others do not notice", async (t) => {
  const { port, clock, counted } = await serve(t);
  const slow = await connectGateway({ port });
  slow.pause();
  slow.write(requestBytes({ path: "/large" }));
  const isCut = new Promise((resolve) => slow.once("close", resolve));
  await eventually("the slow one to be cut", async () => {
    await clock.advance(gatewayStalledMs / 4);
    assert.equal((await sendRequest({ port }, { path: "/hello" })).status, 200);
    return counted.includes("stalled");
  });
  slow.resume();
  await isCut;
});

test("too many pipelined requests → connection is destroyed", async (t) => {
  const { port, counted } = await serve(t, {
    routes: [route("/never", () => new Promise<RestAnswer>(() => undefined))],
  });
  const socket = await connectGateway({ port });
  const request = requestBytes({ path: "/never" });
  const closed = once(socket, "close");
  socket.write(Buffer.concat(Array.from({ length: gatewayPipelined + 1 }, () => request)));
  await closed;
  assert.deepEqual(counted, ["pipelined"]);
});

test("pipelined requests are answered in order", async (t) => {
  const { port } = await serve(t);
  const socket = await connectGateway({ port });
  const put = (body: string) => requestBytes({ method: "PUT", path: "/size", body });
  const all = await exchange(socket, Buffer.concat([put("a"), put("bb"), put("ccc")]), (sofar) => {
    return sofar.toString().split("HTTP/1.1 200").length === 4 && sofar.toString().endsWith("3");
  });
  assert.deepEqual(all.toString().match(/^\d$|(?<=\r\n\r\n)\d/gm), ["1", "2", "3"]);
  socket.destroy();
});

test("shutdown → running requests finish, idle connections close, new ones are rejected", async (t) => {
  const [gate, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { port, server, clock } = await serve(t, {
    routes: [
      route("/slow", () => {
        arrived.resolve();
        return gate.promise.then(() => empty(200));
      }),
    ],
  });
  const [idle, busy] = [await connectGateway({ port }), await connectGateway({ port })];
  await requestOn(idle, { path: "/hello" });
  const answer = requestOn(busy, { path: "/slow" });
  await arrived.promise;
  const isIdleClosed = new Promise((resolve) => idle.once("close", resolve));
  const closed = server.close();
  await isIdleClosed;
  await assert.rejects(connectGateway({ port }), /ECONNREFUSED/);
  gate.resolve();
  assert.equal((await answer).header("Connection"), "close");
  await Promise.all([closed, clock.advance(gatewayDrainMs)]);
  assert.equal(server.connections, 0);
});

test("clients that leave during the handshake leave no state", async (t) => {
  const { server } = await serve(t);
  for (let n = 0; n < 20; n += 1) {
    // By then it has all that it needs, and the server has not.
    (await connectGateway({ port: server.port })).destroy();
  }
  // Before handshakes time out.
  await eventually("no connection is left", () => server.connections === 0, gatewayHandshakeMs - 1_000);
});

test("garbage on many connections leaves no state", async (t) => {
  const { port, server, counted, clock } = await serve(t);
  const random = createSeededRandom(7);
  const honest = await connectGateway({ port });
  const kinds = [
    () => random.bytes(1 + random.int(600)),
    () => Buffer.concat([Buffer.of(22, 3, 1, 2, 0, 1, 0, 1), random.bytes(random.int(700))]),
    () => Buffer.from("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    () => Buffer.from("SSH-2.0-OpenSSH_9.2\r\n"),
    () => Buffer.alloc(0),
    () => Buffer.alloc(gatewayHelloBytes + 1, 22),
  ];
  const count = runs(300, 6_000);
  for (let at = 0; at < count; at += 30) {
    await Promise.all(Array.from({ length: 30 }, (_, index) => scan(port, kinds[(at + index) % kinds.length]?.())));
    assert.equal((await requestOn(honest, { path: "/hello" })).status, 200);
  }
  assert(counted.includes("garbage") && counted.includes("plain"));
  honest.destroy();
  await clock.advance(gatewayHandshakeMs);
  await eventually("all of them gone", () => server.connections === 0);

  /** Half of them reset the connection, the others wait for what comes. */
  async function scan(to: number, bytes = Buffer.alloc(0) as Uint8Array): Promise<void> {
    const socket = await connectPlain(to);
    socket.removeAllListeners("error").on("error", () => undefined);
    if (bytes.length > 0) socket.write(bytes);
    if (random.int(2) === 0 || bytes.length === 0) socket.resetAndDestroy();
    else await Promise.race([once(socket, "close"), eventuallyIdle(socket as TLSSocket)]);
    socket.destroy();
  }

  /** Half a greeting is waited for: the one who sent it does not. */
  function eventuallyIdle(socket: TLSSocket): Promise<unknown> {
    return new Promise((resolve) => socket.setTimeout(20, () => resolve(undefined)));
  }
});

test("client that does not close after an error → destroyed", async (t) => {
  const { port, server, clock } = await serve(t, { own: changing() });
  const hello = await greeting();
  for (const first of [Buffer.from("GET / HTTP/1.1\r\n\r\n"), hello]) {
    const socket = await connectPlain(port);
    socket.removeAllListeners("error").on("error", () => undefined);
    socket.allowHalfOpen = true;
    socket.write(first);
    await once(socket, "data");
    // It sends more than is read, and stays connected.
    socket.write(Buffer.alloc(2 ** 20));
    await clock.advance(gatewayHandshakeMs);
    await eventually("it to be gone", () => server.connections === 0);
    socket.destroy();
  }
});

test("unfinished handshakes of one address leave room for others", async (t) => {
  const { port, counted } = await serve(t);
  const begun = await Promise.all(Array.from({ length: connectionLimits.handshakes }, () => connectPlain(port)));
  for (const socket of begun) socket.removeAllListeners("error").on("error", () => undefined);
  await eventually("some to be rejected", () => counted.includes("handshakes"));
  const other = await connectGateway({ port, tls: { localAddress: "127.0.0.2" } as object });
  assert.equal((await requestOn(other, { path: "/hello" })).status, 200);
  for (const socket of [...begun, other]) socket.destroy();
});

test("four addresses with all handshakes → a fifth replaces their oldest", async (t) => {
  const { port, server, counted } = await serve(t);
  const hello = await greeting();
  const begun: Socket[] = [];
  for (let n = 0; n < connectionLimits.handshakes; n += 1) {
    const socket = connectTcp({ host: "127.0.0.1", port, localAddress: `127.0.0.${2 + (n % 4)}` });
    // The oldest is in the middle of it.
    if (n === 0) socket.write(hello);
    begun.push(socket.on("error", () => undefined).resume());
  }
  await eventually("all handshakes to be taken", () => server.connections === begun.length);
  assert.equal((await sendRequest({ port }, { path: "/hello" })).status, 200);
  await eventually("the end of the oldest", () => begun[0]?.destroyed);
  assert.deepEqual([counted[0], begun.filter(({ destroyed }) => destroyed).length], ["handshakes", 1]);
  for (const socket of begun) socket.destroy();
  await eventually("their end", () => server.connections === 0);
});

test("behind a proxy that sends the PROXY protocol a client is known by its own address, in both versions", async (t) => {
  const { port, sources, counted } = await serve(t, { proxies: { proxyProtocolFrom: ["127.0.0.1/32"] } });
  const headers = [
    [textProxyHeader("192.0.2.7"), "192.0.2.7"],
    [binaryProxyHeader("192.0.2.8"), "192.0.2.8"],
    [textProxyHeader("2001:db8:1:2::3"), "2001:db8:1:2"],
    [binaryProxyHeader("192.0.2.9", { command: 0 }), "127.0.0.1"],
  ] as const;
  for (const [header, source] of headers) {
    const socket = await connectThrough(port, header);
    assert.equal((await requestOn(socket, { path: "/hello" })).status, 200);
    assert.equal(sources.at(-1), source);
    socket.destroy();
  }
  // In two pieces, the second with the client's first bytes behind it.
  const [half, hello] = [binaryProxyHeader("192.0.2.7").subarray(0, 20), await greeting()];
  const socket = await connectPlain(port);
  socket.setNoDelay(true).write(half);
  await realClock.yield();
  socket.write(Buffer.concat([binaryProxyHeader("192.0.2.7").subarray(20), hello]));
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.equal(answer[0], 22);
  socket.destroy();
  assert.deepEqual(counted, []);
});

test("a configured proxy without a header is closed, and a header from any other address is no TLS", async (t) => {
  const { port, counted } = await serve(t, { proxies: { proxyProtocolFrom: ["127.0.0.1/32"] } });
  await assert.rejects(connectGateway({ port }));
  assert.deepEqual(counted, ["proxy"]);
  const other = { localAddress: "127.0.0.2" } as object;
  assert.equal((await sendRequest({ port, tls: other }, { path: "/hello" })).status, 200);
  const socket = connectTcp({ host: "127.0.0.1", port, ...other });
  socket.on("error", () => undefined).write(textProxyHeader("192.0.2.7"));
  await once(socket, "close");
  assert.deepEqual(counted, ["proxy", "garbage"]);
});

for (const [name, proxies, header] of [
  ["clients that a proxy names", { proxyProtocolFrom: ["127.0.0.1/32"] }, textProxyHeader],
  ["connections of a trusted proxy", { trustedProxies: ["127.0.0.0/8"] }, () => Buffer.alloc(0)],
] as const) {
  test(`${name} have limits of their own: half-open connections of one keep no other out`, async (t) => {
    const { port, counted } = await serve(t, { proxies });
    const begin = async (address: string) => {
      const socket = await connectPlain(port);
      socket.removeAllListeners("error").on("error", () => undefined);
      socket.write(header(address));
      return socket;
    };
    const begun = await Promise.all(Array.from({ length: 140 }, () => begin("192.0.2.7")));
    const other = await connectThrough(port, header("192.0.2.8"));
    assert.equal((await requestOn(other, { path: "/hello" })).status, 200);
    const isNamed = "proxyProtocolFrom" in proxies;
    await eventually("the limit of one client", () => counted.length === (isNamed ? 140 - 128 : 0));
    for (const socket of [...begun, other]) socket.destroy();
  });
}

/** What a client of TLS says first. */
async function greeting(): Promise<Buffer> {
  const listener = createServer();
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const client = connect({ host: "127.0.0.1", port: (listener.address() as AddressInfo).port });
  client.on("error", () => undefined);
  const [socket] = (await once(listener, "connection")) as [Socket];
  const [bytes] = (await once(socket, "data")) as [Buffer];
  client.destroy();
  socket.destroy();
  listener.close();
  return bytes;
}
