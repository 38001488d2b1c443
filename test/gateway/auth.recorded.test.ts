/** Every recorded kind of credentials, sent to a whole provider over TLS. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, test } from "node:test";
import { type MadeCertificate, makeCertificate } from "../../src/chain/certificates/make-certificate.ts";
import type { Signer } from "../../src/chain/keys/signer.ts";
import { packMessage } from "../../src/chain/tx/messages.ts";
import { identityOf } from "../../src/gateway/auth/identity.ts";
import { readClaims, readToken } from "../../src/gateway/auth/token.ts";
import type { Address } from "../../src/market/address.ts";
import { once } from "../../src/runtime/memoize.ts";
import { createForger } from "../support/auth-fuzz.ts";
import { eventually } from "../support/eventually.ts";
import { connectGateway, type GatewayResponse, requestOn, sendRequest } from "../support/gateway-client.ts";
import type { GatewayTenant } from "../support/gateway-tenant.ts";
import { createOwner } from "../support/owner.ts";
import { runs } from "../support/runs.ts";
import { shop } from "../support/samples/lease-sdl.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { base64, createAuthStage, newSigner } from "../support/stages/auth-stage.ts";
import { type GatewayStage, startGatewayStage } from "../support/stages/gateway-stage.ts";
import { makeCertificate as makeBareCertificate } from "../support/test-certificate.ts";
import { askEveryRoute } from "./every-route.ts";
import {
  createComparison,
  createTranslation,
  type IntendedAnswer,
  type RecordedVector,
  readGatewayVectors,
  rejectedWith,
  requestOf,
  sent,
} from "./recorded-gateway.ts";
import { isAllowed, type MatrixRow, type RecordedToken, tokenOf } from "./recorded-tokens.ts";

const dseq = 4_100_001n;
const hourMs = 3_600_000;

function rejected(why: string, of: RegExp, message: string): IntendedAnswer {
  return { why, of, ...rejectedWith(message) };
}

const readable = "an answer that a person can read, where the network's provider ends the handshake";
const intended: readonly IntendedAnswer[] = [
  rejected("cheap checks come before the signature", /^expired and signature wrong$/, "JWT is expired"),
  rejected(
    "its own text, which the network's provider means and cannot reach",
    /^expired|^exp before/,
    "JWT is expired",
  ),
  {
    ...{ why: "scopes of newer tools are ignored", status: 200, body: /"services"/, headers: sent.json },
    of: /^leases: scoped, unknown scope$/,
  },
  rejected("the same; no known permission is left", /^permission: scoped, unknown scope$/, "unauthorized access"),
  rejected("the network's provider drops the connection", /^iss account without public key$/, "JWT is invalid"),
  rejected(readable, /time (is over|has not begun)/, "x509: certificate has expired or is not yet valid"),
  rejected(readable, /CN (not an address|empty)/, "tls: invalid certificate's subject common name"),
  rejected(readable, /never published|revoked before this|not on chain|forged/, unknownCertificate()),
  rejected(readable, /RSA/, "x509: certificate specifies an incompatible key usage"),
  rejected("a revoked certificate is none", /then revoked: after$/, unknownCertificate()),
  rejected(readable, /chain of two/, "tls: too many peer certificates"),
  rejected("an unknown account delays no other", /^unknown issuer: second token/, "JWT is invalid"),
  { why: "the same", of: /^unknown issuer: tenant2 \(key not cached\)/, status: 404, body: "" },
  { why: "the same", of: /^unknown issuer: tenant2 afterwards, public/, status: 200, body: /^\{"address":"akash1/ },
];

function unknownCertificate(): string {
  return "tls: attempt to use non-existing or revoked certificate";
}

const owner = createOwner();
after(() => owner[Symbol.asyncDispose]());
/** With a lease that runs. Starting one takes a second or two, so both tests share it. */
const started = once(async () => {
  const stage = await startGatewayStage(owner, { tenants: 4 });
  await stage.tenant.deployed(dseq, shop());
  return stage;
});

test("every recorded kind of credentials → the recorded answer, or an intended difference", async () => {
  const stage = await started();
  const { port, tenant } = stage;
  const { volatile, vectors } = readGatewayVectors("auth.json");
  const status = await eventually("all of it ready", async () => {
    const { body } = await sendRequest({ port }, { path: `/lease/${dseq}/1/1/status`, authorization: tenant.bearer() });
    return !body.includes('"ready_replicas":0') && /"ips":\{"page/.test(body) ? body : undefined;
  });
  const people = await peopleOf(stage, volatile);
  const plain = await connectGateway({ port });
  owner.after(() => void plain.destroy());
  const recordedStatus = vectors.find(({ name }) => name === "good, full")?.answer.body ?? "";
  const translate = createTranslation({ ...people.names, [recordedStatus]: status, '"web"': '"page"' });
  const { compare, finish } = createComparison(intended, translate);

  for (const vector of vectors) {
    if (vector["matrix"]) {
      await playMatrix(vector["matrix"] as readonly MatrixRow[]);
      continue;
    }
    if (vector.name.endsWith("then revoked: after")) await people.revokeUsed();
    compare(vector, await askAs(vector));
  }
  finish();

  async function askAs(vector: RecordedVector): Promise<GatewayResponse> {
    const { auth = "" } = vector.request;
    const shown = vector.request.headers?.filter(([name]) => name === "Authorization");
    const token = vector["token"] as RecordedToken | undefined;
    const good = people.tenants.tenant1.token();
    const headers = shown?.map(([name, value]) => [name, value.replace("<token>", good)] as const);
    // The recording shows times as numbers and as strings alike.
    const timesAre = vector.name === "times as strings" ? "strings" : "numbers";
    const own = token
      ? tokenOf({ ...token, timesAre }, people.signers, Date.now(), translate)
      : people.tokenFor(auth, good);
    const authorization = headers?.length || own === undefined ? undefined : `Bearer ${own}`;
    const request = { ...requestOf(vector, translate), headers: headers ?? [], authorization };
    const connection = people.connectionFor(vector);
    return connection ? sendRequest({ port, ...connection }, request) : requestOn(plain, request);
  }

  async function playMatrix(rows: readonly MatrixRow[]): Promise<void> {
    let differing = 0;
    const body = {
      PUT: JSON.stringify(shop().manifest),
      POST: JSON.stringify({ destination_dseq: Number(dseq), destination_gseq: 1 }),
      GET: undefined,
    };
    for (const { token, leases, answers } of rows) {
      const recorded = JSON.stringify({ leases });
      const claims = JSON.parse(translate(recorded)) as Record<string, unknown>;
      const text = tenant.token(claims);
      const { grant } = readClaims(readToken(text).claims, stage.provider.address);
      const identity = identityOf(tenant.address, grant, 0);
      for (const [route, answer] of Object.entries(answers)) {
        const ownRoute = route.replace(/web/, "page").replace(/api/, "store");
        const isOpen = isAllowed(identity, ownRoute, { dseq, gseq: 1, oseq: 1 });
        if (!isOpen && answer !== 401) {
          assert.match(route, /\/migrate$|\/service\/\w+\/status$|service=api/, `${token}: ${route}`);
          differing += 1;
        }
        // Streams are no routes yet.
        if (/\/(logs|kubeevents|shell)/.test(route)) {
          assert(!isOpen || answer !== 401, `${token}: ${route}`);
          continue;
        }
        const [method = "", path = ""] = ownRoute.split(" ");
        const sent = body[method as keyof typeof body];
        const request = { method, path, authorization: `Bearer ${text}` };
        const ours = await requestOn(plain, { ...request, ...(sent !== undefined && { body: sent }) });
        const wanted = isOpen ? Number(answer) : 401;
        assert.equal(ours.status, wanted, `${token}: ${route}: ${ours.body}`);
        if (wanted === 401) assert.equal(ours.body, '{"message":"unauthorized access"}');
      }
    }
    // Scopes of migrations and of a service's status, and the services of a token: the Go provider checks none.
    assert.equal(differing, 67);
  }
});

test("every route rejects a wrong scope, lease, service or owner, and expired or revoked credentials", async () => {
  const stage = await started();
  const [tenant, otherTenant] = stage.tenants as [GatewayTenant, GatewayTenant];
  const [revoked, over] = [made(tenant.address, 101n), made(tenant.address, 102n, -2 * hourMs, -hourMs)];
  const otherPair = made(otherTenant.address, 101n);
  await Promise.all([
    tenant.send(published(tenant, revoked), published(tenant, over)),
    otherTenant.send(published(otherTenant, otherPair)),
  ]);
  await tenant.revoke({ cert: revoked.certificate, key: revoked.key, serial: revoked.serial });
  const badCertificates = [revoked, over].map(shown);
  const rejections = await askEveryRoute({
    ...{ stage, tenant, otherTenant, dseq, badCertificates },
    otherCertificate: shown(otherPair),
  });
  assert(rejections > 200, `${rejections} rejections`);
});

test("resumed TLS session → its certificate is checked again", async () => {
  const { port, tenants } = await started();
  const [tenant] = tenants as [GatewayTenant];
  const own = made(tenant.address, 103n);
  await tenant.send(published(tenant, own));
  // 404 means authenticated: there is no such lease.
  const path = "/lease/99/1/1/status";
  const socket = await connectGateway({ port, certificate: shown(own) });
  const session = new Promise<Buffer>((resolve) => socket.once("session", resolve));
  assert.equal((await requestOn(socket, { path })).status, 404);
  const tls = { session: await session };
  const resumed = await connectGateway({ port, certificate: shown(own), tls });
  assert.deepEqual([resumed.isSessionReused(), (await requestOn(resumed, { path })).status], [true, 404]);
  await tenant.revoke({ cert: own.certificate, key: own.key, serial: own.serial });
  await eventually("the revocation seen", async () => (await requestOn(socket, { path })).status === 401);
  assert.equal((await requestOn(resumed, { path })).status, 401);
  const again = await connectGateway({ port, tls });
  assert.equal((await requestOn(again, { path })).status, 401);
  for (const each of [socket, resumed, again]) each.destroy();
});

test("modified credentials over TLS → rejected", async () => {
  const { port, tenants } = await started();
  const [tenant, otherTenant] = tenants as [GatewayTenant, GatewayTenant];
  const people = { ...createAuthStage(Date.now()), tenant: tenant.signer, otherTenant: otherTenant.signer };
  const claims = (other = {}) => createAuthStage(Date.now()).claims({ iss: tenant.address, ...other });
  const forger = createForger({ ...people, claims }, createSeededRandom(8));
  const socket = await connectGateway({ port });
  for (let tried = 0; tried < runs(200, 10_000); ) {
    const { authorization, certificates = [] } = forger.next();
    // Node's client rejects other characters in headers.
    if (certificates.length > 0 || authorization === undefined || !/^[\t -~\x80-\xff]*$/.test(authorization)) continue;
    tried += 1;
    const { status, body } = await requestOn(socket, { path: `/lease/${dseq}/1/1/status`, authorization });
    assert(status === 400 || status === 401 || status === 431, `${status} ${body}: ${JSON.stringify(authorization)}`);
  }
  socket.destroy();
});

interface Connection {
  readonly servername?: string;
  readonly certificate?: { readonly cert: string; readonly key: string };
}

/** The accounts of the recording with keys of ours, their certificates and credentials. */
async function peopleOf(stage: GatewayStage, volatile: Readonly<Record<string, string>>) {
  const [tenant1, tenant2, tenant3, fresh] = stage.tenants as [
    GatewayTenant,
    GatewayTenant,
    GatewayTenant,
    GatewayTenant,
  ];
  const otherTenant = newSigner();
  let serial = 1n;
  const make = (owner: Address, from?: number, until?: number) => made(owner, serial++, from, until);
  const [first, second, used, revoked, over, early] = [
    make(tenant1.address),
    make(tenant2.address),
    make(tenant3.address),
    make(tenant3.address),
    make(tenant3.address, -2 * hourMs, -hourMs),
    make(tenant3.address, hourMs, 2 * hourMs),
  ];
  await Promise.all([
    tenant1.send(published(tenant1, first)),
    tenant2.send(published(tenant2, second)),
    tenant3.send(...[used, revoked, over, early].map((each) => published(tenant3, each))),
  ]);
  await tenant3.revoke({ cert: revoked.certificate, key: revoked.key, serial: revoked.serial });
  const certificates: readonly (readonly [RegExp, Connection["certificate"]])[] = [
    [/chain of two/, { cert: first.certificate + second.certificate, key: first.key }],
    [/forged/, shown(made(tenant1.address, BigInt(first.serial)))],
    [/CN not an address/, bare("hello")],
    [/CN empty/, bare("")],
    [/RSA/, bare(tenant3.address, "rsa")],
    [/not on chain|never published/, shown(make(tenant3.address))],
    [/revoked before this/, shown(revoked)],
    [/time is over/, shown(over)],
    [/has not begun/, shown(early)],
    [/used, then revoked/, shown(used)],
    [/mTLS of (another owner|tenant2)/, shown(second)],
    [/^mTLS/, shown(first)],
  ];
  return {
    tenants: { tenant1, tenant2, tenant3 },
    names: {
      [volatile["provider"] ?? ""]: stage.provider.address,
      akash1rt6zsjelr8sfffauhxn3pu83jt8tkr3vmg3xdx: stage.provider.address,
      [volatile["tenant1"] ?? ""]: tenant1.address,
      [volatile["fresh_account"] ?? ""]: fresh.address,
    },
    signers: {
      ...{ tenant1: tenant1.signer, other: tenant2.signer },
      "account with funds, no transaction yet (no public key on chain)": fresh.signer,
    } as Readonly<Record<string, Signer>>,
    connectionFor({ name, request }: RecordedVector): Connection | undefined {
      const [, certificate] = certificates.find(([of]) => of.test(name)) ?? [];
      const [, servername] = /SNI ([a-z.]+)/.exec(request.auth ?? "") ?? [];
      return certificate && { certificate, ...(servername !== undefined && { servername }) };
    },
    tokenFor(auth: string, good: string): string | undefined {
      const [header, payload, signature] = good.split(".");
      if (/two parts/.test(auth)) return `${header}.${payload}`;
      if (/empty signature/.test(auth)) return `${header}.${payload}.`;
      if (/payload not JSON/.test(auth)) return `${header}.${base64("hello")}.${signature}`;
      if (/payload changed/.test(auth)) return `${header}.${base64('{"iss":"x"}')}.${signature}`;
      if (/not on chain/.test(auth) && auth.startsWith("JWT"))
        return tokenOf(unknownToken(), { otherTenant }, Date.now(), (text) => text);
      if (/JWT ES256K of tenant2/.test(auth)) return tenant2.token();
      return /JWT/.test(auth) ? good : undefined;
    },
    async revokeUsed(): Promise<void> {
      await tenant3.revoke({ cert: used.certificate, key: used.key, serial: used.serial });
      await eventually("the revocation seen", async () => {
        return (await sendRequest({ port: stage.port, certificate: shown(used) }, { path: "/address" })).status === 401;
      });
    },
  };

  function unknownToken(): RecordedToken {
    const times = { iat: "now+0", nbf: "now+0", exp: "now+900" };
    const claims = { iss: otherTenant.address, ...times, version: "v1", leases: { access: "full" } };
    return { header: { alg: "ES256K", typ: "JWT" }, claims, signedBy: "otherTenant" };
  }
}

function made(owner: Address, serial: bigint, fromMs = -hourMs, untilMs = hourMs): MadeCertificate {
  const now = Date.now();
  const times = { fromMs: now + fromMs, untilMs: now + untilMs };
  return makeCertificate({ owner, hosts: [], isServer: false, serial, ...times });
}

function published({ address: owner }: GatewayTenant, { certificate, publicKey }: MadeCertificate) {
  return packMessage("createCertificate", { owner, cert: Buffer.from(certificate), pubkey: Buffer.from(publicKey) });
}

function shown({ certificate, key }: MadeCertificate) {
  return { cert: certificate, key };
}

/** With that name and nothing of what the network wants of one. */
function bare(name: string, kind: "ec" | "rsa" = "ec") {
  const { certPem, keyPem } = makeBareCertificate({ name, kind });
  assert(new X509Certificate(certPem));
  return { cert: certPem, key: keyPem };
}
