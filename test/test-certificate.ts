/** Certificates for tests, put together byte by byte: Node can read them but not make them. */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

export interface TestCertificate {
  readonly name: string;
  readonly certPem: string;
  readonly keyPem: string;
  readonly key: KeyObject;
}

interface Wishes {
  readonly name: string;
  /** Who signs it; without one it signs itself and may sign others. */
  readonly issuer?: TestCertificate;
  /** The organization in the subject: to Kubernetes, the user's group. */
  readonly group?: string;
  /** "20200102000000Z" is long past. */
  readonly until?: string;
}

/** Good for 127.0.0.1. */
export function makeCertificate({ name, issuer, group, until = "20990101000000Z" }: Wishes): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const body = sequence(
    tagged(0xa0, integer(2)),
    integer(serial++),
    ecdsaWithSha256,
    nameOf(issuer?.name ?? name),
    sequence(time("20200101000000Z"), time(until)),
    nameOf(name, group),
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(basicConstraints(issuer === undefined), forLoopback)),
  );
  const signature = sign("sha256", body, issuer?.key ?? privateKey);
  const der = sequence(body, ecdsaWithSha256, tagged(0x03, Buffer.of(0), signature));
  return {
    name,
    certPem: pem("CERTIFICATE", der),
    keyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    key: privateKey,
  };
}

let serial = 1;

function tagged(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  // The shortest form, as DER wants it.
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.of(tag, ...length), content]);
}

function sequence(...parts: Uint8Array[]): Buffer {
  return tagged(0x30, ...parts);
}

function integer(value: number): Buffer {
  return tagged(0x02, Buffer.of(value));
}

function time(text: string): Buffer {
  return tagged(0x18, Buffer.from(text));
}

function oid(...bytes: number[]): Buffer {
  return tagged(0x06, Buffer.from(bytes));
}

function nameOf(commonName: string, organization?: string): Buffer {
  const attribute = (kind: number, text: string) =>
    tagged(0x31, sequence(oid(0x55, 0x04, kind), tagged(0x0c, Buffer.from(text))));
  const name = attribute(0x03, commonName);
  return organization === undefined ? sequence(name) : sequence(attribute(0x0a, organization), name);
}

const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

function basicConstraints(isAuthority: boolean): Buffer {
  const value = isAuthority ? sequence(tagged(0x01, Buffer.of(0xff))) : sequence();
  return sequence(oid(0x55, 0x1d, 0x13), tagged(0x01, Buffer.of(0xff)), tagged(0x04, value));
}

const forLoopback = sequence(oid(0x55, 0x1d, 0x11), tagged(0x04, sequence(tagged(0x87, Buffer.of(127, 0, 0, 1)))));

function pem(label: string, der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
