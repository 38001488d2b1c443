import assert from "node:assert/strict";
import { test } from "node:test";
import type { DetailedPeerCertificate, SecureVersion } from "node:tls";
import { connectGateway, type GatewayConnection, requestOn, sendRequest } from "../support/gateway-client.ts";
import { createOwner } from "../support/owner.ts";
import { certificateOf, type GatewayStage, publicHost, startGatewayStage } from "../support/stages/gateway-stage.ts";
import { makeCertificate } from "../support/test-certificate.ts";
import { createTranslation, type RecordedVector, readGatewayVectors } from "./recorded-gateway.ts";

interface Offer {
  readonly port: string;
  readonly versions?: readonly SecureVersion[];
  readonly ciphers?: readonly string[];
  readonly groups?: readonly string[];
  readonly sni?: string | null;
  readonly alpn?: readonly string[];
}

/** Intended differences, by recording. */
const intended: Readonly<Record<string, { readonly why: string; readonly ours: object }>> = {
  "REST: session tickets and resumption": {
    why: "OpenSSL gives two tickets where Go gives one; either is good once",
    ours: { ticketsReceived: 2, resumed: true },
  },
};
/** Visible only in a trace of the handshake; a certificate request shows in the responses. */
const traced = /handshake messages/;

test("handshakes → the recorded results of the Go gateway", async () => {
  await using owner = createOwner();
  const stage = await startGatewayStage(owner);
  const { vectors, translate } = recorded(stage);
  const seen = new Set<string>();
  for (const vector of vectors.filter(({ name }) => name.startsWith("REST: ") && !traced.test(name))) {
    const row = intended[vector.name];
    if (row) seen.add(vector.name);
    const wanted = row ? row.ours : wantedOf(vector);
    const got = /resumption/.test(vector.name) ? await resume(stage) : await shake(stage, vector, translate);
    assert.deepEqual(got, wanted, `${vector.name}${row ? ` (${row.why})` : ""}`);
  }
  assert.deepEqual([...seen], Object.keys(intended), "intended differences that nothing shows");
});

test("server name → the certificate, and whether a client certificate is requested", async () => {
  await using owner = createOwner();
  const stage = await startGatewayStage(owner, { publicCertificate: certificateOf(publicHost) });
  const { tenant, port, provider } = stage;
  const certificate = await tenant.certificate();
  const { vectors, translate } = recorded(stage);
  const path = "/lease/99/1/1/status";
  const named = vectors.filter(({ name }) => name.startsWith("CA certificate loaded, REST"));
  assert.equal(named.length, 5);
  for (const { name, request, answer } of named) {
    const sni = (request as unknown as Offer).sni;
    const connection = { port, ...(sni !== null && sni !== undefined && { servername: translate(sni) }) };
    const shown = await subjectShown(connection);
    const { status } = await sendRequest({ ...connection, certificate }, { path });
    const isRequested = (answer["serverMessages"] as string[]).includes("CertificateRequest");
    assert.deepEqual([shown, status], isRequested ? [provider.address, 404] : [publicHost, 401], name);
  }
  const { certPem: cert, keyPem: key } = makeCertificate({ name: tenant.address });
  const credentials: Record<string, [Partial<GatewayConnection>, string | undefined]> = {
    "mTLS with SNI of the public host name": [{ servername: publicHost, certificate }, undefined],
    "mTLS with SNI mtls.<host>": [{ servername: `mtls.${publicHost}`, certificate }, undefined],
    "mTLS without SNI": [{ certificate }, undefined],
    "JWT with SNI of the public host name": [{ servername: publicHost }, tenant.bearer()],
    "mTLS and JWT with SNI of the public host name": [{ servername: publicHost, certificate }, tenant.bearer()],
    "public route, certificate never published, SNI of the public host name": [
      { servername: publicHost, certificate: { cert, key } },
      undefined,
    ],
  };
  const requests = vectors.filter(({ name }) => name.startsWith("CA certificate loaded: "));
  assert.equal(requests.length, Object.keys(credentials).length);
  for (const { name, request, answer } of requests) {
    const [connection, authorization] = credentials[name.slice("CA certificate loaded: ".length)] ?? [{}, undefined];
    const { status, body } = await sendRequest({ port, ...connection }, { path: request.path, authorization });
    assert.deepEqual([status, body], [answer.status, translate(answer.body ?? "")], name);
  }
});

function recorded({ provider, tenant }: GatewayStage) {
  const { volatile, vectors } = readGatewayVectors("tls.json");
  const ours = { [volatile["provider"] ?? "-"]: provider.address, [volatile["tenant1"] ?? "-"]: tenant.address };
  const second = { akash1rt6zsjelr8sfffauhxn3pu83jt8tkr3vmg3xdx: provider.address };
  const translate = createTranslation({
    ...ours,
    ...second,
    localhost: publicHost,
    LOCALHOST: publicHost.toUpperCase(),
  });
  return { vectors, translate };
}

function wantedOf({ answer }: RecordedVector): object {
  if (answer["ok"] !== true) return { tlsError: errorOf(answer["tlsError"] as { code?: string } | string) };
  const { protocol, cipher, alpn, group, http } = answer;
  return { protocol, cipher, alpn, group, http };
}

/** The number of the alert, or what the client found before it sent anything. */
function errorOf(error: { readonly code?: string; readonly message?: string } | string): string {
  const text = typeof error === "string" ? error : `${error.message}`;
  return /alert number \d+/.exec(text)?.[0] ?? (typeof error === "string" ? error : `${error.code}`);
}

async function shake({ port }: GatewayStage, { request }: RecordedVector, translate: (text: string) => string) {
  const { versions, ciphers, groups, sni, alpn } = request as unknown as Offer;
  const [version] = versions ?? [];
  const tls = {
    ...(version && { minVersion: version, maxVersion: version }),
    // What is long broken is offered only so.
    ...(version && version !== "TLSv1.3" && { ciphers: "ALL:@SECLEVEL=0" }),
    ...(ciphers && { ciphers: ciphers.join(":") }),
    ...(groups && { ecdhCurve: groups.join(":") }),
    ...(alpn && { ALPNProtocols: [...alpn] }),
  };
  const servername = sni === null || sni === undefined ? undefined : translate(sni);
  try {
    const socket = await connectGateway({ port, servername, tls });
    const { line: http } = await requestOn(socket, { path: "/address" });
    const { type, name } = socket.getEphemeralKeyInfo() as { type: string; name: string };
    const shown = {
      protocol: socket.getProtocol(),
      cipher: socket.getCipher().standardName,
      alpn: socket.alpnProtocol,
      group: { type, name },
      http,
    };
    socket.destroy();
    return shown;
  } catch (error) {
    return { tlsError: errorOf(error as Error & { code?: string }) };
  }
}

async function resume({ port }: GatewayStage) {
  const first = await connectGateway({ port });
  const tickets: Buffer[] = [];
  first.on("session", (ticket: Buffer) => tickets.push(ticket));
  await requestOn(first, { path: "/address" });
  first.destroy();
  const second = await connectGateway({ port, tls: { session: tickets[0] } });
  const resumed = second.isSessionReused();
  second.destroy();
  return { ticketsReceived: tickets.length, resumed };
}

async function subjectShown(connection: GatewayConnection): Promise<string> {
  const socket = await connectGateway(connection);
  const { subject } = socket.getPeerCertificate(true) as DetailedPeerCertificate;
  socket.destroy();
  return String(subject.CN);
}
