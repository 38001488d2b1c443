/**
 * An authority that means us harm, or is merely broken, over real HTTP: whatever it answers, the issuer goes on, holds little
 * of it, shows nothing that cannot be served, and has its certificate once the authority is itself again.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../test/support/eventually.ts";
import { memoryFolder } from "../../../test/support/folder.ts";
import { createSeededRandom } from "../../../test/support/seeded-random.ts";
import { certificateTime, makeCertificate } from "../../../test/support/test-certificate.ts";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { openBoundary } from "../../runtime/boundary.ts";
import { silentLog } from "../../runtime/log.ts";
import { acmeErrorChars, openIssuer } from "./certificate-issuer.ts";

// It takes a while, which no request is to be late for.
await import("acme-client");

const host = "provider.example";
const day = 86_400_000;

type Paths = "/directory" | "/nonce" | "/account" | "/new-order" | "/order" | "/finalize" | "/certificate";
type Wishes = Partial<Parameters<typeof makeCertificate>[0]>;

/** What an answer can be made of. */
interface Scene {
  readonly base: string;
  readonly nowMs: number;
  /** For the key of the order that is under way. */
  certificate(wishes?: Wishes): string;
}

/** Answers in the place of a good authority, on some of its paths. */
type Hostility = Partial<Record<Paths | "all", (answer: ServerResponse, scene: Scene) => void>>;

async function stage(t: TestContext, hostility: Hostility) {
  const clock = createVirtualClock();
  const dir = memoryFolder(t);
  let isHealed = false;
  let status = "ready";
  let requests = 0;

  const certificate = (wishes?: Wishes) => {
    const { key: keyPem } = JSON.parse(readFileSync(join(dir, "orders", `${host}.json`), "utf8"));
    const [from, until] = [certificateTime(clock.now() - 1_000), certificateTime(clock.now() + 90 * day)];
    return makeCertificate({ ...{ name: "leaf", host, keyPem, from, until }, ...wishes }).certPem;
  };
  const order = (base: string) => ({
    ...{ status, authorizations: [`${base}/authorization`], finalize: `${base}/finalize` },
    ...(status === "valid" && { certificate: `${base}/certificate` }),
  });
  const good: Record<Paths, (answer: ServerResponse, base: string) => void> = {
    "/directory": (answer, base) =>
      json(answer, { newNonce: `${base}/nonce`, newAccount: `${base}/account`, newOrder: `${base}/new-order` }),
    "/nonce": (answer) => void answer.end(),
    "/account": (answer, base) => json(answer, { status: "valid" }, 201, { location: `${base}/account/1` }),
    "/new-order"(answer, base) {
      status = "ready";
      json(answer, order(base), 201, { location: `${base}/order` });
    },
    "/order": (answer, base) => json(answer, order(base)),
    "/finalize"(answer, base) {
      status = "valid";
      json(answer, order(base));
    },
    "/certificate": (answer) => void answer.end(certificate()),
  };

  const server = createServer((request, answer) => {
    requests += 1;
    const path = request.url as Paths;
    const hostile = isHealed ? undefined : (hostility[path] ?? hostility.all);
    const base = `http://${request.headers.host}`;
    answer.setHeader("replay-nonce", `nonce${requests}`);
    request.resume().on("end", () => {
      if (hostile) hostile(answer, { base, certificate, nowMs: clock.now() });
      else if (path in good) good[path](answer, base);
      else json(answer, {}, 404);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });

  const { port } = server.address() as AddressInfo;
  const directoryUrl = `http://127.0.0.1:${port}/directory`;
  const issuer = openIssuer({ directoryUrl, email: "operator@example.com", httpPort: 0, tlsPort: 0, dir }, host, {
    clock,
    random: createSeededRandom(1),
    log: silentLog,
    boundary: openBoundary,
  });
  const abort = new AbortController();
  const running = issuer.run(abort.signal);
  t.after(async () => {
    abort.abort();
    await running;
  });

  /** Advances the clock only while no request is pending, as responses would time out otherwise. */
  async function inTime<T>(what: string, look: () => T | undefined | false): Promise<T> {
    let [before, quietLooks] = [requests, 0];
    return eventually(what, async () => {
      quietLooks = requests === before ? quietLooks + 1 : 0;
      before = requests;
      if (quietLooks > 2) await clock.advance(15_000);
      return look();
    });
  }

  return {
    ...{ issuer, inTime, requests: () => requests },
    attempts: () => readFileSync(join(dir, "orders", `${host}.attempts.json`), "utf8"),
    isKept: () => existsSync(join(dir, "certificates", `${host}.crt`)),
    heal: () => {
      isHealed = true;
    },
  };
}

function json(answer: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}): void {
  answer.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

function endless(answer: ServerResponse): void {
  const more = () => {
    while (answer.write("x".repeat(65_536)));
  };
  answer.on("drain", more);
  more();
}

const long = "x".repeat(200_000);
const other = makeCertificate({ name: "other", host: "other.example" });

const cases: Readonly<Record<string, readonly [Hostility, RegExp]>> = {
  "a directory that is no JSON": [{ "/directory": (answer) => void answer.end("<html>") }, /directory/],
  "a directory that says nothing": [{ "/directory": (answer) => void answer.end("null") }, /./],
  "an answer without an end": [{ "/directory": endless }, /longer than/],
  "an answer that does not come": [{ "/directory": () => undefined }, /cannot be reached/],
  "an answer that stops half-way": [{ "/order": (answer) => void answer.write("{") }, /cannot be reached/],
  "a directory that leads to itself": [
    { "/directory": (answer) => void answer.writeHead(302, { location: "/directory" }).end() },
    /redirect/,
  ],
  "an order that is led elsewhere": [
    { "/new-order": (answer) => void answer.writeHead(307, { location: "/order" }).end() },
    /redirect/,
  ],
  "nonces that are never good": [
    {
      "/account": (answer) => json(answer, { type: "urn:ietf:params:acme:error:badNonce", detail: long }, 400),
    },
    /xxx/,
  ],
  "an endless rejection": [{ "/account": (answer) => json(answer, { type: "x", detail: long }, 403) }, /refused at/],
  "an order at no address": [
    { "/new-order": (answer) => json(answer, {}, 201, { location: "no address" }) },
    /order .* came to nothing: .*no address/,
  ],
  "an order that is no file of the web": [
    { "/new-order": (answer) => json(answer, {}, 201, { location: "file:///etc/passwd" }) },
    /order .* came to nothing: .*file:/,
  ],
  "an order that is no JSON": [{ "/order": (answer) => void answer.end("hello") }, /./],
  "an order that is nothing": [{ "/order": (answer) => void answer.end("null") }, /./],
  "an order that is gone": [{ "/order": (answer) => json(answer, {}, 404) }, /does not have it/],
  "an order that fails": [
    { "/order": (answer) => json(answer, { status: "invalid", error: { detail: long } }) },
    /came to nothing: xxx/,
  ],
  "an order that is never done": [
    { "/order": (answer) => json(answer, { status: "processing" }) },
    /not finished our order within 10 minutes/,
  ],
  "an order that wants to be finished for ever": [
    { "/finalize": (answer, { base }) => json(answer, { status: "ready", finalize: `${base}/finalize` }) },
    /not finished our order within 10 minutes/,
  ],
  "an order that wants other names proved": [
    {
      "/order": (answer, { base }) => {
        const authorizations = Array.from({ length: 1_000 }, (_, at) => `${base}/authorization/${at}`);
        json(answer, { status: "pending", authorizations });
      },
    },
    /came to nothing: .* 1000 names/,
  ],
  "a certificate that is none": [{ "/certificate": (answer) => void answer.end("garbage") }, /cannot be served/],
  "a certificate without an end": [{ "/certificate": endless }, /longer than/],
  "a certificate of another name": [
    { "/certificate": (answer, { certificate }) => void answer.end(certificate({ host: "other.example" })) },
    /cannot be served: the certificate is not for provider\.example/,
  ],
  "a certificate of another key": [
    { "/certificate": (answer) => void answer.end(other.certPem) },
    /cannot be served: the key does not belong to the certificate/,
  ],
  "a certificate with garbage behind it": [
    {
      "/certificate": (answer, { certificate }) =>
        void answer.end(`${certificate()}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`),
    },
    /cannot be served/,
  ],
  "a certificate that has ended": [
    {
      "/certificate": (answer, { certificate, nowMs }) =>
        void answer.end(certificate({ from: certificateTime(nowMs - 2 * day), until: certificateTime(nowMs - day) })),
    },
    /cannot be served: the certificate ended at/,
  ],
  "a certificate of next month": [
    {
      "/certificate": (answer, { certificate, nowMs }) =>
        void answer.end(
          certificate({ from: certificateTime(nowMs + 30 * day), until: certificateTime(nowMs + 120 * day) }),
        ),
    },
    /cannot be served: the certificate begins at/,
  ],
};

for (const [what, [hostility, message]] of Object.entries(cases))
  test(`${what} → a short error, and a certificate once the authority recovers`, async (t) => {
    const { issuer, inTime, requests, attempts, isKept, heal } = await stage(t, hostility);
    const error = await inTime("an error", () => issuer.error);
    assert.match(error, message);
    assert.deepEqual([issuer.current, isKept(), issuer.counts.failed], [undefined, false, 1]);
    assert.ok(error.length <= acmeErrorChars, `${error.length} characters`);
    assert.ok(attempts().length <= 2 * acmeErrorChars, `${attempts().length} characters`);
    assert.ok(requests() < 200, `${requests()} requests`);
    heal();
    const { certificate } = await inTime("a certificate", () => issuer.current);
    assert.match(certificate, /BEGIN CERTIFICATE/);
    await inTime("no error", () => issuer.error === undefined);
  });
