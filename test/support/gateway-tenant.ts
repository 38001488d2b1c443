/** A tenant of the gateway stage: an account with a key, certificates on the chain, tokens, and leases. */
import type { Queries } from "../../src/chain/chain.ts";
import type { Signer } from "../../src/chain/keys/signer.ts";
import {
  closeDeployment,
  createDeployment,
  createLease,
  type PackedMessage,
  packMessage,
} from "../../src/chain/tx/messages.ts";
import type { Address } from "../../src/market/address.ts";
import { parseCoin } from "../../src/market/coin.ts";
import { bidOn, type LeaseId } from "../../src/market/ids.ts";
import { manifestHash } from "../../src/market/manifest.ts";
import type { Sdl } from "../../src/market/sdl/sdl.ts";
import type { ProviderServices } from "../../src/provider/provider.ts";
import { invariant } from "../../src/runtime/invariant.ts";
import { eventually } from "./eventually.ts";
import { cell } from "./samples/lease-sdl.ts";

export interface TenantCertificate {
  readonly cert: string;
  readonly key: string;
  readonly serial: string;
}

export interface GatewayTenant {
  readonly signer: Signer;
  readonly address: Address;
  /** Signed by its key, good for everything and 15 minutes; claims are put over that. */
  token(claims?: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): string;
  /** The same as the value of a header. */
  bearer(claims?: Readonly<Record<string, unknown>>): string;
  /** One that is on the chain, made by the public client's own code; every call makes another. */
  certificate(): Promise<TenantCertificate>;
  revoke(certificate: TenantCertificate): Promise<void>;
  /** Resolves when it is in a block. */
  send(...messages: readonly PackedMessage[]): Promise<void>;
  /** On the chain, without a manifest. */
  lease(dseq: bigint, sdl?: Sdl): Promise<LeaseId>;
  /** The same with its manifest taken and deployed. */
  deployed(dseq: bigint, sdl?: Sdl): Promise<LeaseId>;
  close(dseq: bigint): Promise<void>;
}

interface TenantDeps {
  readonly signer: Signer;
  readonly provider: Address;
  readonly queries: Queries;
  readonly services: () => ProviderServices;
  send(...messages: readonly PackedMessage[]): Promise<void>;
}

export function createGatewayTenant({ signer, provider, queries, services, send }: TenantDeps): GatewayTenant {
  const { address } = signer;
  const tenant: GatewayTenant = {
    signer,
    address,
    send,
    token: (claims, header) => tokenOf(signer, claims, header),
    bearer: (claims) => `Bearer ${tenant.token(claims)}`,
    async certificate() {
      // Takes a while to load, and not every test needs one.
      const { certificateManager } = await import("@akashnetwork/chain-sdk");
      const { cert, publicKey, privateKey } = await certificateManager.generatePEM(address);
      const { hSerial } = await certificateManager.parsePem(cert);
      const parts = { owner: address, cert: Buffer.from(cert), pubkey: Buffer.from(publicKey) };
      await send(packMessage("createCertificate", parts));
      return { cert, key: privateKey, serial: BigInt(`0x${hSerial}`).toString() };
    },
    revoke: ({ serial }) => send(packMessage("revokeCertificate", { id: { owner: address, serial } })),
    async lease(dseq, { groups, manifest } = cell()) {
      const id = { owner: address, dseq };
      await send(createDeployment({ id, groups, hash: manifestHash(manifest), deposit: parseCoin("5000000uact") }));
      const lease = bidOn({ ...id, gseq: 1, oseq: 1 }, provider);
      await eventually("a bid", async () => (await queries.bid(lease)).value?.state === "open");
      await send(createLease(lease));
      return lease;
    },
    async deployed(dseq, sdl = cell()) {
      const lease = await tenant.lease(dseq, sdl);
      const manifests = await services().manifests;
      const cluster = await services().cluster;
      invariant(manifests && cluster, "the provider of the stage sells");
      await eventually("a manifest taken", async () => {
        await manifests.submit({ owner: address, dseq }, JSON.stringify(sdl.manifest));
        return true;
      });
      const journal = await services().journal;
      const leaseId = `${address}/${dseq}/1/1/${provider}`;
      await eventually("a manifest deployed", () => {
        const { version, deployed } = journal.read.manifests.get(leaseId) ?? {};
        return version !== undefined && deployed?.version === version;
      });
      return lease;
    },
    close: (dseq) => send(closeDeployment({ owner: address, dseq })),
  };
  return tenant;
}

function base64(text: string | Uint8Array): string {
  return Buffer.from(text).toString("base64url");
}

type Json = Readonly<Record<string, unknown>>;

/** Of whoever has this key, also where no account has it. */
export function tokenOf(signer: Signer, claims: Json = {}, header: Json = {}): string {
  const now = Math.floor(Date.now() / 1_000);
  const times = { iat: now, nbf: now, exp: now + 900 };
  const payload = { version: "v1", iss: signer.address, ...times, leases: { access: "full" }, ...claims };
  const signed = [{ alg: "ES256K", typ: "JWT", ...header }, payload].map((part) => base64(JSON.stringify(part)));
  const text = signed.join(".");
  return `${text}.${base64(signer.sign(Buffer.from(text)))}`;
}
