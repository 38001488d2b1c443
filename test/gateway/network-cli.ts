/**
 * A stand-in of the network's own tools, written from what is known of them and not from our client: the CLI with a token or
 * with a certificate, and Console with a certificate. What signs is the network's package.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { request } from "node:http";
import { connect, type TLSSocket } from "node:tls";
import { JwtTokenManager } from "@akashnetwork/chain-sdk";
import type { Queries } from "../../src/chain/chain.ts";
import type { Signer } from "../../src/chain/keys/signer.ts";
import { parseAddress } from "../../src/market/address.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import type { Sdl } from "../../src/market/sdl/sdl.ts";
import { realClock } from "../../src/runtime/clock.ts";
import type { TenantCertificate } from "../support/gateway-tenant.ts";
import { type NetworkStream, openNetworkStream, readShell, type ShellEnd } from "./network-streams.ts";

export type Way =
  | { readonly tool: "CLI"; readonly signer: Signer }
  | { readonly tool: "CLI" | "Console"; readonly certificate: TenantCertificate }
  /** The client of public routes. */
  | { readonly tool: "CLI" };

interface Where {
  /** Of the address that the provider has on chain. */
  readonly host: string;
  readonly port: number;
  readonly queries: Pick<Queries, "certificates">;
}

export interface Reply {
  readonly status: number;
  readonly type: string | undefined;
  readonly body: string;
}

export interface NetworkCli {
  ask(method: string, path: string, body?: string): Promise<Reply>;
  /** Prints JSON. */
  status(): Promise<Record<string, unknown>>;
  /** As text: what each provider came to. */
  sendManifest(lease: LeaseId, sdl: Sdl): Promise<"PASS" | string>;
  getManifest(lease: LeaseId): Promise<unknown>;
  leaseStatus(lease: LeaseId): Promise<LeaseStatus>;
  serviceStatus(lease: LeaseId, service: string): Promise<ServiceStatus>;
  migrateHostnames(hosts: readonly string[], to: LeaseId): Promise<void>;
  migrateEndpoints(names: readonly string[], to: LeaseId): Promise<void>;
  deleteManifest(lease: LeaseId): Promise<void>;
  /** The CLI sends `services`, which the Go gateway ignores, and no tail; Console sends `service` and `tail`. */
  leaseLogs(lease: LeaseId, options: { readonly services?: string; readonly follow: boolean }): Promise<NetworkStream>;
  leaseEvents(lease: LeaseId, options: { readonly follow: boolean }): Promise<NetworkStream>;
  leaseShell(lease: LeaseId, service: string, command: readonly string[]): Promise<ShellEnd>;
}

type OnFrame = Parameters<Parameters<typeof readShell>[0]>[0];

export interface LeaseStatus {
  readonly services: Readonly<Record<string, ServiceStatus>>;
  readonly forwarded_ports: Readonly<Record<string, readonly Record<string, unknown>[]>> | null;
  readonly ips: Readonly<Record<string, readonly Record<string, unknown>[]>> | null;
}

export interface ServiceStatus {
  readonly name: string;
  readonly available: number;
  readonly total: number;
  readonly uris: readonly string[] | null;
  readonly observed_generation: number;
  readonly ready_replicas: number;
}

export function createNetworkCli(way: Way, { host, port, queries }: Where): NetworkCli {
  /** A new connection and, with a key, a new token for every request. */
  async function ask(method: string, path: string, body?: string): Promise<Reply> {
    const { socket, headers: known } = await connected();
    try {
      const headers = { ...known, ...(body && { "content-type": "application/json" }) };
      return await new Promise<Reply>((resolve, reject) => {
        const outgoing = request({ method, path, headers, createConnection: () => socket }, (answer) => {
          let text = "";
          answer.setEncoding("utf8").on("data", (chunk: string) => {
            text += chunk;
          });
          answer.on("end", () =>
            resolve({ status: answer.statusCode ?? 0, type: answer.headers["content-type"], body: text }),
          );
        });
        outgoing.on("error", reject).end(body);
      });
    } finally {
      socket.destroy();
    }
  }

  async function connected() {
    const socket = await handshake();
    await (way.tool === "Console" ? checkAsConsole(socket) : checkAsCli(socket));
    const authorization = "signer" in way ? { authorization: `Bearer ${await tokenOf(way.signer)}` } : {};
    return { socket, headers: { host: `${host}:${port}`, ...authorization } };
  }

  const stream = async (lease: LeaseId, route: string, query: Record<string, string>, onFrame?: OnFrame) => {
    const path = `${leasePath(lease)}/${route}?${new URLSearchParams(query)}`;
    return openNetworkStream({ ...(await connected()), path, clock: realClock, ...(onFrame && { onFrame }) });
  };

  /** With a certificate the CLI sends another server name, and Console none; without one the host. */
  function handshake(): Promise<TLSSocket> {
    const certificate = "certificate" in way ? way.certificate : undefined;
    const servername = way.tool === "Console" ? "" : certificate ? `mtls.${host}` : host;
    return new Promise((resolve, reject) => {
      const socket = connect({
        ...{ host: "127.0.0.1", port, servername, minVersion: "TLSv1.3", rejectUnauthorized: false },
        ...(certificate && { cert: certificate.cert, key: certificate.key }),
      });
      socket.once("error", reject).once("secureConnect", () => resolve(socket));
    });
  }

  async function onChain(owner: string, serial: string): Promise<X509Certificate> {
    const { items } = await queries.certificates({ owner, serial, state: "valid" });
    const pem = items[0]?.certificate?.cert;
    assert.ok(pem, "the chain has a valid certificate of that number");
    return new X509Certificate(pem);
  }

  /** Exactly one, of an account that signed it itself, and which the one on the chain proves. */
  async function checkAsCli(socket: TLSSocket): Promise<void> {
    const { issuerCertificate, raw } = socket.getPeerCertificate(true);
    assert.ok(issuerCertificate === undefined || issuerCertificate.raw.equals(raw), "one certificate is shown");
    const shown = new X509Certificate(raw);
    const { subject, issuer } = shown.toLegacyObject();
    assert.equal(subject.CN, issuer.CN);
    const root = await onChain(parseAddress(String(subject.CN)), serialOf(shown));
    assert.ok(shown.verify(root.publicKey) && shown.raw.equals(root.raw));
    assert.ok(shown.validFromDate <= new Date() && new Date() <= shown.validToDate);
    assert.ok(shown.keyUsage?.includes("1.3.6.1.5.5.7.3.1"), "it is for servers");
  }

  async function checkAsConsole(socket: TLSSocket): Promise<void> {
    const shown = socket.getPeerX509Certificate();
    assert.ok(shown && shown.serialNumber !== "");
    assert.ok(shown.validFromDate <= new Date() && new Date() <= shown.validToDate);
    assert.equal(shown.issuer, shown.subject);
    const { fingerprint256 } = await onChain(parseAddress(String(shown.toLegacyObject().subject.CN)), serialOf(shown));
    assert.equal(shown.fingerprint256, fingerprint256);
  }

  async function said(method: string, path: string, body?: string): Promise<string> {
    const reply = await ask(method, path, body);
    if (reply.status !== 200) throw new Error(`provider error messsage:\n${reply.status} ${reply.body}`);
    return reply.body;
  }

  const leasePath = ({ dseq, gseq, oseq }: LeaseId) => `/lease/${dseq}/${gseq}/${oseq}`;
  const migrate = async (path: string, what: object, { dseq, gseq }: LeaseId) => {
    const body = { ...what, destination_dseq: Number(dseq), destination_gseq: gseq };
    await said("POST", path, JSON.stringify(body));
  };

  return {
    ask,
    status: async () => JSON.parse(await said("GET", "/status")),
    async sendManifest({ dseq }, { manifest }) {
      const { status, body } = await ask("PUT", `/deployment/${dseq}/manifest`, JSON.stringify(manifest));
      return status === 200 ? "PASS" : `FAIL ${status}: ${body}`;
    },
    getManifest: async (lease) => JSON.parse(await said("GET", `${leasePath(lease)}/manifest`)),
    leaseStatus: async (lease) => JSON.parse(await said("GET", `${leasePath(lease)}/status`)),
    serviceStatus: async (lease, name) => JSON.parse(await said("GET", `${leasePath(lease)}/service/${name}/status`)),
    migrateHostnames: (hosts, to) => migrate("/hostname/migrate", { hostnames_to_migrate: hosts }, to),
    migrateEndpoints: (names, to) => migrate("/endpoint/migrate", { endpoints_to_migrate: names }, to),
    deleteManifest: async ({ dseq }) => void (await said("DELETE", `/deployment/${dseq}/manifest`)),
    leaseLogs(lease, { services, follow }) {
      const filter = services === undefined ? {} : { [way.tool === "CLI" ? "services" : "service"]: services };
      const tail = way.tool === "CLI" ? {} : { tail: follow ? "100" : "10000000" };
      return stream(lease, "logs", { follow: String(follow), ...filter, ...tail });
    },
    leaseEvents: (lease, { follow }) => stream(lease, "kubeevents", { follow: String(follow) }),
    leaseShell(lease, service, command) {
      const words = command.map((word, n) => [`cmd${n}`, word]);
      const query = { service, podIndex: "0", tty: "0", stdin: "0", ...Object.fromEntries(words) };
      return readShell((onFrame) => stream(lease, "shell", query, onFrame));
    },
  };
}

function serialOf({ serialNumber }: X509Certificate): string {
  return BigInt(`0x${serialNumber}`).toString();
}

async function tokenOf({ address, publicKey, sign }: Signer): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const manager = new JwtTokenManager({
    algorithm: "ES256K",
    signArbitrary: async (_, data) => ({
      pub_key: { type: "tendermint/PubKeySecp256k1", value: Buffer.from(publicKey).toString("base64") },
      signature: Buffer.from(sign(Buffer.from(data))).toString("base64"),
    }),
  });
  const times = { iat: now, nbf: now, exp: now + 900 };
  return manager.generateToken({ version: "v1", iss: address, ...times, leases: { access: "full" } });
}
