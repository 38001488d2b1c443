/** What tenant and provider bring to the market, whichever client they use. */
import assert from "node:assert/strict";
import {
  certificateManager,
  generateManifest,
  generateManifestVersion,
  type SDLInput,
  yaml,
} from "@akashnetwork/chain-sdk";
import { Source } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import type { GroupSpec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import type { DeliverTxResponse } from "@cosmjs/stargate";

/** Deposits above what the network asks for at least. */
export const firstDeposit = 5_000_000n;
export const bidDeposit = 600_000n;

/**
 * A client simulates without a fee, so a node's answer lacks what taking the fee costs, some 16,000. For the smallest
 * transactions that is more than the 1.3 and 1.4 that these clients put on top by themselves.
 */
export const gasMultiplier = 1.6;

/** Price of a lease for each block, with a fraction: what was earned is cut to whole coins when it is settled. */
export const price = "12.5";
export function earned(blocks: number): bigint {
  return (BigInt(blocks) * 125n) / 10n;
}

export function providerEntry(owner: string) {
  const attributes = [{ key: "region", value: "stranger" }];
  return { owner, hostUri: "https://provider.test:8443", attributes, info: { email: "", website: "" } };
}

export interface Compiled {
  readonly groups: GroupSpec[];
  readonly hash: Uint8Array;
}

/** Groups and version of a deployment, as the network's own tools make them of an SDL. */
export async function compile(denom: string, image = "nginx:1.29"): Promise<Compiled> {
  const sdl: SDLInput = yaml`
    version: "2.0"
    services:
      web:
        image: ${image}
        expose:
          - port: 80
            to:
              - global: true
    profiles:
      compute:
        web:
          resources:
            cpu:
              units: 0.5
            memory:
              size: 64Mi
            storage:
              size: 128Mi
      placement:
        lab:
          attributes:
            region: stranger
          pricing:
            web:
              denom: ${denom}
              amount: 1000
    deployment:
      web:
        lab:
          profile: web
          count: 2
  `;
  const manifest = generateManifest(sdl);
  assert.ok(manifest.ok, JSON.stringify(manifest.value));
  return { groups: manifest.value.groupSpecs, hash: await generateManifestVersion(manifest.value.groups) };
}

/** Offers exactly what was asked for. */
export function offerFor(spec: GroupSpec | undefined) {
  assert.ok(spec);
  return spec.resources.map(({ resource, count }) => ({ resources: resource, count, prices: undefined }));
}

export function deposit(amount: bigint, denom: string) {
  return { amount: { denom, amount: `${amount}` }, sources: [Source.balance] };
}

export async function newCertificate(owner: string) {
  const pem = await certificateManager.generatePEM(owner);
  const { hSerial } = await certificateManager.parsePem(pem.cert);
  return {
    id: { owner, serial: BigInt(`0x${hSerial}`).toString() },
    cert: new Uint8Array(Buffer.from(pem.cert)),
    pubkey: new Uint8Array(Buffer.from(pem.publicKey)),
  };
}

/** What a transaction paid in a coin, as the chain says itself. */
export function feeOf({ events }: Pick<DeliverTxResponse, "events">, denom: string): bigint {
  const attributes = events.filter(({ type }) => type === "tx").flatMap((event) => event.attributes);
  const [, amount = "0", unit] = /^(\d+)([a-z]+)$/.exec(attributes.find(({ key }) => key === "fee")?.value ?? "") ?? [];
  assert.ok(unit, "a fee in one coin");
  return unit === denom ? BigInt(amount) : 0n;
}
