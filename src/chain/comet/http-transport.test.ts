import assert from "node:assert/strict";
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { temporaryFolder } from "../../../test/support/folder.ts";
import { makeCertificate } from "../../../test/support/test-certificate.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { type Clock, realClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { createNodeTransport, type NodeAddress, rpcTlsRecheckMs } from "./http-transport.ts";
import { createRpcCall, type RpcCall, rpcAnswerBytes } from "./rpc-call.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, call: { id: number; method: string }) => void;

async function listen(t: TestContext, server: Server & { closeAllConnections(): void }): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

function answering(handler: Handler) {
  return async (request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    handler(request, response, JSON.parse(body));
  };
}

const sound: Handler = (_, response, { id, method }) => {
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { method } }));
};

interface CallableNode {
  readonly name: string;
  readonly call: RpcCall;
}

function open(t: TestContext, address: NodeAddress, clock: Clock = realClock): CallableNode {
  const transport = createNodeTransport(address, clock);
  t.after(() => transport.close());
  return { name: transport.name, call: createRpcCall(transport, clock) };
}

async function nodeWith(t: TestContext, handler: Handler): Promise<CallableNode> {
  const port = await listen(t, createPlainServer(answering(handler)));
  return open(t, { url: `http://127.0.0.1:${port}` });
}

/** The code and the message of what the call throws. */
async function failureOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await work;
  } catch (thrown) {
    assert.ok(thrown instanceof ProviderError, String(thrown));
    return { code: thrown.code, message: thrown.message };
  }
  throw new Error("it succeeded");
}

test("a call is answered with its result, over one connection that stays open", async (t) => {
  const ports = new Set<number>();
  const node = await nodeWith(t, (request, response, call) => {
    ports.add(request.socket.remotePort ?? 0);
    sound(request, response, call);
  });
  assert.deepEqual(await node.call("health", {}), { method: "health" });
  assert.deepEqual(await node.call("status", {}), { method: "status" });
  assert.equal(ports.size, 1);
});

const strangeAnswers: [string, Handler, RegExp][] = [
  [
    "a web page",
    (_, response) => void response.writeHead(502).end("<html><title>Bad Gateway</title></html>"),
    /status with something else: an HTML page \(HTTP 502, \d+ characters\) that begins "<html><title>Bad/,
  ],
  [
    "an answer that is cut off",
    (_, response) => {
      response.writeHead(200, { "content-length": 1_000 });
      response.write('{"jsonrpc":"2.0","id":1,"result":{', () => response.destroy());
    },
    /an answer that breaks off after 34 bytes/,
  ],
  ["half of an answer", (_, response) => void response.end('{"jsonrpc":"2.0","id":1,'), /JSON that is cut off or none/],
  ["nothing", (_, response) => void response.writeHead(504).end(), /nothing \(HTTP 504\)/],
  ["JSON of something else", (_, response) => void response.end('{"status":"ok"}'), /begins "\{\\"status/],
  [
    "the answer to another call",
    (_, response, { id }) => void response.end(JSON.stringify({ jsonrpc: "2.0", id: id + 7, result: {} })),
    /the answer to call 8 instead of 1/,
  ],
  ["no result", (_, response, { id }) => void response.end(JSON.stringify({ jsonrpc: "2.0", id })), /neither a result/],
];

for (const [what, handler, pattern] of strangeAnswers) {
  test(`${what} is reported with its cause and the node's name`, async (t) => {
    const node = await nodeWith(t, handler);
    const { code, message } = await failureOf(node.call("status", {}));
    assert.equal(code, "AKP_CHAIN_ANSWER_MALFORMED");
    assert.match(message, pattern);
    assert.ok(message.includes(node.name));
  });
}

test("an error of the node is reported with its reason, whatever the HTTP status", async (t) => {
  const error = { code: -32603, message: "Internal error", data: "height 9 is not available" };
  const node = await nodeWith(t, (_, response, { id }) => {
    response.writeHead(500).end(JSON.stringify({ jsonrpc: "2.0", id, error }));
  });
  const { code, message } = await failureOf(node.call("block_results", { height: "9" }));
  assert.equal(code, "AKP_CHAIN_CALL_REFUSED");
  assert.match(message, / block_results: height 9 is not available/);
});

test("a node that does not answer in time is given up, and so is a call that is no longer wanted", async (t) => {
  const clock = createVirtualClock();
  const port = await listen(
    t,
    createPlainServer(() => undefined),
  );
  const node = open(t, { url: `http://127.0.0.1:${port}` }, clock);
  const late = failureOf(node.call("status", {}, { timeoutMs: 700 }));
  await clock.advance(700);
  assert.match((await late).message, /no answer within 700 ms/);

  const wanted = new AbortController();
  const call = node.call("status", {}, { signal: wanted.signal });
  wanted.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
});

test("an answer without end is cut at the bound", async (t) => {
  const node = await nodeWith(t, (_, response) => {
    const chunk = Buffer.alloc(1024 * 1024, "x");
    const more = () => {
      while (!response.destroyed && response.write(chunk));
      response.once("drain", more);
    };
    more();
  });
  const { message } = await failureOf(node.call("status", {}));
  assert.match(message, new RegExp(`more than ${rpcAnswerBytes} bytes`));
});

test("an unreachable node is reported without the key in its address", async (t) => {
  const node = open(t, { url: "http://user:geheim@127.0.0.1:1/geheim" });
  const { code, message } = await failureOf(node.call("status", {}));
  assert.equal(code, "AKP_CHAIN_UNREACHABLE");
  assert.match(message, /http:\/\/127\.0\.0\.1:1\/… cannot be reached: .*ECONNREFUSED/);
  assert.doesNotMatch(message, /geheim/);
});

test("a node closed an idle connection → the call is repeated over a new one", async (t) => {
  let calls = 0;
  const node = await nodeWith(t, (request, response, call) => {
    calls += 1;
    if (calls === 2) request.socket.destroy();
    else sound(request, response, call);
  });
  await node.call("health", {});
  assert.deepEqual(await node.call("status", {}), { method: "status" });
  assert.equal(calls, 3);
});

interface TlsStage {
  readonly url: string;
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** Common names of the clients that called. */
  readonly clients: string[];
}

async function tlsStage(t: TestContext): Promise<TlsStage & { signClient(name: string): void; otherCa: string }> {
  const folder = temporaryFolder(t);
  const file = (name: string, content: string) => {
    // As certificate managers do it: a new file takes the name of the old one.
    writeFileSync(join(folder, `${name}.new`), content);
    renameSync(join(folder, `${name}.new`), join(folder, name));
    return join(folder, name);
  };
  const authority = makeCertificate({ name: "authority" });
  const server = makeCertificate({ name: "node", issuer: authority });
  const clients: string[] = [];
  const options = { cert: server.certPem, key: server.keyPem, ca: authority.certPem, requestCert: true };
  const handler: Handler = (request, response, call) => {
    clients.push(String((request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? "nobody"));
    sound(request, response, call);
  };
  const port = await listen(t, createTlsServer({ ...options, rejectUnauthorized: false }, answering(handler)));
  const signClient = (name: string) => {
    const { certPem, keyPem } = makeCertificate({ name, issuer: authority });
    file("client.pem", certPem);
    file("client.key", keyPem);
  };
  signClient("first");
  return {
    url: `https://127.0.0.1:${port}`,
    caFile: file("ca.pem", authority.certPem),
    otherCa: file("other.pem", makeCertificate({ name: "stranger" }).certPem),
    certFile: join(folder, "client.pem"),
    keyFile: join(folder, "client.key"),
    clients,
    signClient,
  };
}

test("a node is reached with a client certificate, and with the new one once that has been renewed", async (t) => {
  const { url, caFile, certFile, keyFile, clients, signClient } = await tlsStage(t);
  const clock = createVirtualClock();
  const node = open(t, { url, tls: { caFile, certFile, keyFile } }, clock);
  await node.call("status", {});
  signClient("second");
  await node.call("status", {});
  await clock.advance(rpcTlsRecheckMs);
  await node.call("status", {});
  assert.deepEqual(clients, ["first", "first", "second"]);
});

test("a node whose certificate another authority signed → rejected", async (t) => {
  const { url, otherCa, clients } = await tlsStage(t);
  for (const tls of [{}, { caFile: otherCa }]) {
    const node = open(t, { url, tls });
    const { code, message } = await failureOf(node.call("status", {}));
    assert.equal(code, "AKP_CHAIN_UNTRUSTED", message);
  }
  assert.deepEqual(clients, []);
});

test("a certificate file that cannot be read is named", async (t) => {
  const { url, caFile } = await tlsStage(t);
  const node = open(t, { url, tls: { caFile, certFile: `${caFile}.missing` } });
  const { code, message } = await failureOf(node.call("status", {}));
  assert.equal(code, "AKP_CHAIN_TLS_FILE_UNREADABLE");
  assert.match(message, /ca\.pem\.missing/);
});

test("a certificate and a key that do not match → the error says so", async (t) => {
  const { url, caFile, certFile } = await tlsStage(t);
  const keyFile = join(temporaryFolder(t), "other.key");
  for (const key of [makeCertificate({ name: "other" }).keyPem, "no key at all"]) {
    writeFileSync(keyFile, key);
    const node = open(t, { url, tls: { caFile, certFile, keyFile } });
    const { code } = await failureOf(node.call("status", {}));
    assert.equal(code, "AKP_CHAIN_TLS_FILE_UNREADABLE");
  }
});
