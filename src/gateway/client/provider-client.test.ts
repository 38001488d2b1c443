import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, RequestListener } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import { createServer as createTcpServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { testKey } from "../../../test/support/chain-signing.ts";
import { makeCertificate as makeTestCertificate } from "../../../test/support/test-certificate.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { type CertificateWishes, makeCertificate } from "../../chain/certificates/make-certificate.ts";
import { createSigner } from "../../chain/keys/signer.ts";
import { clientRequestMs, createProviderClient } from "./provider-client.ts";
import type { CertificatesOnChain, ClientOptions } from "./provider-connection.ts";

const nowMs = Date.UTC(2026, 0, 2);
const dayMs = 86_400_000;
const provider = createSigner(testKey("provider").secret).address;
const tenant = createSigner(testKey("tenant").secret);

const own = (wishes: Partial<CertificateWishes> = {}) =>
  makeCertificate({
    ...{ owner: provider, hosts: ["localhost"], isServer: true, serial: 1234567890123456789n },
    ...{ fromMs: nowMs - dayMs, untilMs: nowMs + dayMs },
    ...wishes,
  });

/** A chain with these certificates, all of them valid. */
function chainWith(...made: readonly { serial: string; certificate: string }[]): CertificatesOnChain {
  return async (owner, serial) =>
    made
      .filter((each) => each.serial === serial)
      .map(({ certificate }) => new X509Certificate(certificate))
      .filter((certificate) => certificate.subject.includes(owner))
      .map(({ raw }) => raw);
}

interface Heard {
  readonly requests: IncomingMessage[];
  readonly names: (string | false)[];
}

async function serve(t: TestContext, options: ServerOptions, answer: RequestListener) {
  const heard: Heard = { requests: [], names: [] };
  const server = createServer({ minVersion: "TLSv1.2", ...options }, (request, response) => {
    heard.requests.push(request);
    answer(request, response);
  });
  server.on("secureConnection", (socket: TLSSocket & { servername?: string | false }) => {
    heard.names.push(socket.servername ?? false);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close().closeAllConnections());
  const { port } = server.address() as { port: number };
  return { heard, port, url: `https://localhost:${port}` };
}

const ok: RequestListener = (_, response) => response.end("{}");

function clientOf(t: TestContext, options: Partial<ClientOptions> & Pick<ClientOptions, "url">) {
  const clock = createVirtualClock(nowMs);
  const client = createProviderClient({
    credentials: { kind: "none" },
    onChain: undefined,
    roots: [],
    clock,
    ...options,
  });
  t.after(() => client.close());
  return { ...client, clock, status: () => client.request({ method: "GET", path: "/status" }) };
}

test("a server that shows its account's certificate of the chain is believed, and gets a token of that second", async (t) => {
  const certificate = own();
  const { url, heard } = await serve(t, { cert: certificate.certificate, key: certificate.key }, ok);
  const { status } = clientOf(t, {
    ...{ url: `${url}/`, provider, onChain: chainWith(certificate), credentials: { kind: "jwt", signer: tenant } },
  });
  assert.equal(await status(), "{}");
  const [{ url: path, headers } = {}] = heard.requests;
  assert.equal(path, "/status");
  assert.deepEqual(heard.names, ["localhost"]);
  const [, claims = ""] = headers?.authorization?.split(".") ?? [];
  const seconds = nowMs / 1_000;
  assert.deepEqual(JSON.parse(Buffer.from(claims, "base64url").toString()), {
    ...{ iss: tenant.address, iat: seconds, nbf: seconds, exp: seconds + 900 },
    ...{ version: "v1", leases: { access: "full" } },
  });
});

test("client certificate → mtls server name and no token", async (t) => {
  const [server, client] = [own(), own({ owner: tenant.address, isServer: false, hosts: [], serial: 5n })];
  const served = { cert: server.certificate, key: server.key, requestCert: true, rejectUnauthorized: false };
  const { url, heard } = await serve(t, served, (request, response) => {
    const { raw } = (request.socket as TLSSocket).getPeerCertificate();
    response.end(raw.toString("base64"));
  });
  const credentials = { kind: "mtls", certificate: client } as const;
  const { status } = clientOf(t, { url, onChain: chainWith(server), credentials });
  assert.equal(await status(), new X509Certificate(client.certificate).raw.toString("base64"));
  assert.deepEqual(heard.names, ["mtls.localhost"]);
  assert.equal(heard.requests[0]?.headers.authorization, undefined);
});

test("two requests share one verified connection, each with its own token", async (t) => {
  const certificate = own();
  let queries = 0;
  const onChain: CertificatesOnChain = (...about) => {
    queries += 1;
    return chainWith(certificate)(...about);
  };
  const { url, heard } = await serve(t, { cert: certificate.certificate, key: certificate.key }, ok);
  const { status, clock } = clientOf(t, { url, onChain, credentials: { kind: "jwt", signer: tenant } });
  await status();
  await clock.advance(1_000);
  await status();
  const tokens = heard.requests.map(({ headers }) => headers.authorization);
  assert.deepEqual([queries, heard.names.length, new Set(tokens).size], [1, 1, 2]);
});

test("a server that an authority vouches for is believed by its host name, without the chain", async (t) => {
  const authority = makeTestCertificate({ name: "authority" });
  const { certPem, keyPem } = makeTestCertificate({ name: "server", issuer: authority });
  const { port } = await serve(t, { cert: certPem, key: keyPem }, ok);
  const byAddress = clientOf(t, { url: `https://127.0.0.1:${port}`, roots: [authority.certPem] });
  assert.equal(await byAddress.status(), "{}");
  const byName = clientOf(t, { url: `https://localhost:${port}`, roots: [authority.certPem] });
  await assert.rejects(byName.status(), /no authority that this machine trusts/);
});

const someoneElse = createSigner(testKey("someone else").secret).address;
const shown = own();

const unproven: readonly { is: string; shows: ReturnType<typeof own>; onChain?: CertificatesOnChain; says: RegExp }[] =
  [
    {
      is: "that the chain does not have",
      shows: own(),
      onChain: chainWith(),
      says: /the chain has no valid certificate/,
    },
    {
      is: "with the number of another one on the chain",
      ...{ shows: own(), onChain: chainWith(own()), says: /the chain has no valid certificate/ },
    },
    {
      is: "of another account",
      ...{ shows: own({ owner: someoneElse }), says: /is that of akash1\S+, and not of akash1/ },
    },
    { is: "that has expired", shows: own({ untilMs: nowMs - 1_000 }), says: /has expired/ },
    { is: "that is not valid yet", shows: own({ fromMs: nowMs + 1_000 }), says: /not valid yet/ },
    { is: "that is for clients", shows: own({ isServer: false, hosts: [] }), says: /not for servers/ },
    { is: "that may not be looked up", shows: shown, onChain: undefined as never, says: /--offline/ },
  ];

for (const { is, shows, says, ...rest } of unproven) {
  test(`server certificate ${is} → nothing is sent`, async (t) => {
    const { url, heard } = await serve(t, { cert: shows.certificate, key: shows.key }, ok);
    const onChain = "onChain" in rest ? rest.onChain : chainWith(shows);
    const { status } = clientOf(t, { url, provider, onChain, credentials: { kind: "jwt", signer: tenant } });
    await assert.rejects(status(), { code: "AKP_PROVIDER_UNPROVEN", message: says });
    assert.deepEqual(heard.requests, []);
  });
}

test("account certificate signed by another one → rejected", async (t) => {
  const signed = makeTestCertificate({ name: provider, issuer: makeTestCertificate({ name: someoneElse }) });
  const { url } = await serve(t, { cert: signed.certPem, key: signed.keyPem }, ok);
  await assert.rejects(clientOf(t, { url, provider }).status(), /not signed by the account that it names/);
});

test("TLS 1.2 server → rejected", async (t) => {
  const { url, heard } = await serve(t, { cert: shown.certificate, key: shown.key, maxVersion: "TLSv1.2" }, ok);
  await assert.rejects(clientOf(t, { url, onChain: chainWith(shown) }).status(), { code: "AKP_PROVIDER_UNREACHABLE" });
  assert.deepEqual(heard.names, []);
});

test("what a provider says to a rejection is shown after the words that the network's CLI has for it", async (t) => {
  const { url } = await serve(t, { cert: shown.certificate, key: shown.key }, (_, response) => {
    response.writeHead(422).end("manifest version validation failed\n\u001b[2J");
  });
  await assert.rejects(clientOf(t, { url, onChain: chainWith(shown) }).status(), {
    code: "AKP_PROVIDER_REFUSED",
    message: `GET ${url}/status was answered with 422\nprovider error messsage:\nmanifest version validation failed\n\\u{1b}[2J`,
  });
});

test("a redirect is an answer like any other, and not followed", async (t) => {
  const { url, heard } = await serve(t, { cert: shown.certificate, key: shown.key }, (_, response) => {
    response.writeHead(301, { location: "/elsewhere" }).end();
  });
  await assert.rejects(clientOf(t, { url, onChain: chainWith(shown) }).status(), /answered with 301/);
  assert.equal(heard.requests.length, 1);
});

test("endless or missing response → timeout", async (t) => {
  const flood = await serve(t, { cert: shown.certificate, key: shown.key }, (_, response) => {
    const more = () => void (response.destroyed || response.write(Buffer.alloc(2 ** 20), more));
    more();
  });
  await assert.rejects(clientOf(t, { url: flood.url, onChain: chainWith(shown) }).status(), /longer than \d+ bytes/);
  const requested = Promise.withResolvers<void>();
  const silent = await serve(t, { cert: shown.certificate, key: shown.key }, () => requested.resolve());
  const { status, clock } = clientOf(t, { url: silent.url, onChain: chainWith(shown) });
  const answer = assert.rejects(status(), /no answer in time/);
  await requested.promise;
  await clock.advance(clientRequestMs);
  await answer;
});

test("a server that never says hello is left as soon as the caller wants to go", async (t) => {
  const called = Promise.withResolvers<Socket>();
  const silent = createTcpServer((socket) => called.resolve(socket));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  t.after(() => silent.close());
  const { port } = silent.address() as { port: number };
  const { request: ask } = clientOf(t, { url: `https://127.0.0.1:${port}` });
  const abort = new AbortController();
  const answer = ask({ method: "GET", path: "/status", signal: abort.signal });
  const socket = await called.promise;
  abort.abort(new Error("enough"));
  await assert.rejects(answer, /enough/);
  await once(socket.resume(), "close");
});

test("a request that is aborted, also before it begins, fails with the reason itself", async (t) => {
  const requested = Promise.withResolvers<void>();
  const silent = await serve(t, { cert: shown.certificate, key: shown.key }, () => requested.resolve());
  const { request: ask } = clientOf(t, { url: silent.url, onChain: chainWith(shown) });
  const reason = new Error("enough");
  const abort = new AbortController();
  const answer = ask({ method: "GET", path: "/status", signal: abort.signal });
  await requested.promise;
  abort.abort(reason);
  await assert.rejects(answer, (thrown) => thrown === reason);
  await assert.rejects(ask({ method: "GET", path: "/status", signal: abort.signal }), (thrown) => thrown === reason);
});

test("URL without https → rejected before a connection is opened", () => {
  const options = { credentials: { kind: "none" }, onChain: undefined, clock: createVirtualClock(nowMs) } as const;
  assert.throws(() => createProviderClient({ ...options, url: "http://provider.example.com:8443" }), /https:/);
});
