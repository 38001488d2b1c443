/** Tokens as they were recorded, signed anew by keys of ours. */
import assert from "node:assert/strict";
import { secp256k1 } from "@noble/curves/secp256k1";
import type { Signer } from "../../src/chain/keys/signer.ts";
import type { CallerIdentity, LeaseNumbers, TokenScope } from "../../src/gateway/auth/identity.ts";
import { base64, makeToken } from "../support/stages/auth-stage.ts";

export interface RecordedToken {
  readonly header: Readonly<Record<string, unknown>>;
  /** Addresses are the recorder's, and times stand like "now+900". */
  readonly claims: Readonly<Record<string, unknown>>;
  readonly signedBy: string;
  /** What was done to the signature, in words. */
  readonly signature?: string;
  readonly timesAre?: "numbers" | "strings";
}

/** What one kind of token opened. */
export interface MatrixRow {
  readonly token: string;
  readonly leases: unknown;
  /** By route; 401 as a number where it was rejected. */
  readonly answers: Readonly<Record<string, string | number>>;
}

export function tokenOf(
  { header, claims, signedBy, signature, timesAre }: RecordedToken,
  signers: Readonly<Record<string, Signer>>,
  nowMs: number,
  translate: (recorded: string) => string,
): string {
  const signer = signers[signedBy];
  assert(signer, signedBy);
  const payload = translate(JSON.stringify(claims)).replace(/"now([+-][\d.]+)"/g, (_, seconds: string) => {
    const time = String(Math.floor(nowMs / 1_000) + Number(seconds));
    return timesAre === "strings" ? JSON.stringify(time) : time;
  });
  if (signature === "ES256K signature of header.payload") {
    // Whatever the header says.
    const [, body = ""] = makeToken(signer, payload).split(".");
    const signed = `${base64(JSON.stringify(header))}.${body}`;
    return `${signed}.${base64(signer.sign(Buffer.from(signed)))}`;
  }
  const token = makeToken(signer, payload, header);
  if (signature === undefined) return token;
  const [head, body, good = ""] = token.split(".");
  const change = changes[signature];
  assert(change, signature);
  return `${head}.${body}.${base64(change(Buffer.from(good, "base64url")))}`;
}

const changes: Readonly<Record<string, (signature: Buffer) => Uint8Array>> = {
  "one bit changed": (signature) => signature.map((byte, index) => (index === 40 ? byte ^ 1 : byte)),
  "high S": (signature) => {
    const s = secp256k1.CURVE.n - BigInt(`0x${signature.toString("hex", 32)}`);
    return Buffer.concat([signature.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, "0"), "hex")]);
  },
  DER: (signature) => secp256k1.Signature.fromBytes(signature, "compact").toBytes("der"),
  "65 bytes": (signature) => Buffer.concat([signature, Buffer.of(0)]),
  empty: () => Buffer.of(),
};

/** Whether a route like "GET /lease/1/1/1/status" is to be opened, with all that the Go provider does not check. */
export function isAllowed(identity: CallerIdentity, route: string, lease: LeaseNumbers): boolean {
  const [verb, path = ""] = route.split(" ");
  const { pathname, searchParams } = new URL(path, "https://provider");
  if (pathname === "/address") return true;
  const [, named] = /\/service\/(\w+)/.exec(pathname) ?? [];
  const scope = scopeOf[`${verb} ${pathname.replace(/^\/(lease|deployment)\/[\d/]+(service\/\w+\/)?/, "")}`];
  assert(scope, route);
  if (!identity.mayUseProvider) return false;
  if (!pathname.startsWith("/lease")) return identity.mayUseDeployment(lease.dseq, scope);
  const leaseId = { ...lease, dseq: BigInt(pathname.split("/")[2] ?? "") };
  if (!identity.mayUseLease(leaseId) || !identity.mayUseLease(leaseId, scope)) return false;
  const service = named ?? searchParams.get("service");
  return service === null || (identity.servicesOf(leaseId, scope)?.has(service) ?? true);
}

const scopeOf: Readonly<Record<string, TokenScope>> = {
  "PUT manifest": "send-manifest",
  "GET manifest": "get-manifest",
  "GET status": "status",
  "GET logs": "logs",
  "GET kubeevents": "events",
  "GET shell": "shell",
  "POST /hostname/migrate": "hostname-migrate",
  "POST /endpoint/migrate": "ip-migrate",
};
