/** The host name of its own that a service gets below the operator's domain: the network's, so that it never moves. */
import { createHash } from "node:crypto";
import { formatOrderId, type LeaseId } from "./ids.ts";
import { base32Hex } from "./lease-namespace.ts";

/** The namespace of names in the DNS, from RFC 9562. */
const dnsNamespace = Buffer.from("6ba7b8109dad11d180b400c04fd430c8", "hex");

export function staticHost(lease: LeaseId, service: string, domain: string): string {
  return `${base32Hex(uuidV5(`${formatOrderId(lease)}/${lease.provider}${service}`))}.${domain}`;
}

function uuidV5(name: string): Uint8Array {
  const bytes = createHash("sha1").update(dnsNamespace).update(name).digest().subarray(0, 16);
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x50;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  return bytes;
}
