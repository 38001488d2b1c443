/** The Kubernetes namespace in which a lease's workload runs: the network's own way, so that others find it. */
import { createHash } from "node:crypto";
import { type BidId, formatOrderId, type LeaseId } from "./ids.ts";

/** Every object of a lease needs it, more than once. */
const known = new WeakMap<BidId, string>();

export function leaseNamespace(lease: BidId): string {
  const name = known.get(lease) ?? hashedName(lease);
  known.set(lease, name);
  return name;
}

function hashedName(lease: BidId): string {
  // Without the bid's own number.
  const name = `${formatOrderId(lease)}/${lease.provider}`;
  return base32Hex(createHash("sha224").update(name).digest());
}

/** Base 32 with the "extended hex" alphabet in lower case and without padding. */
export function base32Hex(bytes: Uint8Array): string {
  const chars = Math.ceil((bytes.length * 8) / 5);
  const value = BigInt(`0x${Buffer.from(bytes).toString("hex") || "0"}`);
  return (value << BigInt(chars * 5 - bytes.length * 8)).toString(32).padStart(chars, "0");
}

/** The namespace of names in the DNS, from RFC 9562. */
const dnsNamespace = Buffer.from("6ba7b8109dad11d180b400c04fd430c8", "hex");

/** The host name of its own that a service gets below the operator's domain: the network's, so that it never moves. */
export function staticHost(lease: LeaseId, service: string, domain: string): string {
  return `${base32Hex(uuidV5(`${formatOrderId(lease)}/${lease.provider}${service}`))}.${domain}`;
}

function uuidV5(name: string): Uint8Array {
  const bytes = createHash("sha1").update(dnsNamespace).update(name).digest().subarray(0, 16);
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x50;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  return bytes;
}
