/** Makes a self-signed certificate as the network's tools do. Node reads certificates and cannot make them. */
import { generateKeyPairSync, sign } from "node:crypto";
import { isIP } from "node:net";
import type { Address } from "../../market/address.ts";
import { readRange } from "../../market/ip-range.ts";
import { type Clock, formatTime } from "../../runtime/clock.ts";
import type { Random } from "../../runtime/random.ts";
import { clientAuth, serverAuth } from "./certificate-file.ts";

export interface CertificateWishes {
  readonly owner: Address;
  /** Names and IP addresses at which the owner is reached; tenants have none. */
  readonly hosts: readonly string[];
  /** Whether it is shown by a server too, not only by a client. */
  readonly isServer: boolean;
  readonly serial: bigint;
  readonly fromMs: number;
  readonly untilMs: number;
}

export type MadeCertificate = Readonly<ReturnType<typeof makeCertificate>>;

/** Nanoseconds of the wall clock, as the network's tools number them; chance keeps two of one millisecond apart. */
export function newSerial(clock: Pick<Clock, "now">, random: Pick<Random, "int">): bigint {
  return BigInt(Math.floor(clock.now())) * 1_000_000n + BigInt(random.int(1_000_000));
}

export function makeCertificate({ owner, serial, fromMs, untilMs, ...purpose }: CertificateWishes) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  const name = nameOf(owner);
  const body = sequence(
    element(0xa0, integer(2n)), // version 3
    integer(serial),
    ecdsaWithSha256,
    name,
    sequence(time(fromMs), time(untilMs)),
    name,
    spki,
    element(0xa3, sequence(...extensionsOf(purpose))),
  );
  return {
    /** In decimal digits, as the chain writes it. */
    serial: serial.toString(),
    certificate: pem("CERTIFICATE", sequence(body, ecdsaWithSha256, bits(sign("sha256", body, privateKey)))),
    /** Of PKCS#8, as PEM, not encrypted. */
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    /** With the label that the chain insists on. */
    publicKey: pem("EC PUBLIC KEY", spki),
  };
}

const ecdsaWithSha256 = sequence(objectId("1.2.840.10045.4.3.2"));

/** The account, and the version of what the network means by such a certificate. */
function nameOf(owner: Address): Buffer {
  const part = (id: string, text: string) => set(sequence(objectId(id), printableString(text)));
  return sequence(part("2.5.4.3", owner), part("2.23.133.2.6", "v0.0.1"));
}

function extensionsOf({ hosts, isServer }: Pick<CertificateWishes, "hosts" | "isServer">): Buffer[] {
  const names = hosts.filter((host) => isIP(host) === 0).map(dnsName);
  const addresses = hosts.filter((host) => isIP(host) !== 0).map(ipAddress);
  const usages = [clientAuth, ...(isServer ? [serverAuth] : [])].map(objectId);
  const extensions = [
    // Encipherment of keys and data: bits 2 and 3, the last four of the byte unused.
    critical("2.5.29.15", bits(Buffer.of(0x30), 4)),
    extension("2.5.29.37", sequence(...usages)),
    // Not an authority.
    critical("2.5.29.19", sequence()),
  ];
  if (hosts.length > 0) extensions.push(extension("2.5.29.17", sequence(...names, ...addresses)));
  if (names.length > 0) {
    const permitted = element(0xa0, ...names.map((each) => sequence(each)));
    extensions.push(critical("2.5.29.30", sequence(permitted)));
  }
  return extensions;
}

const extension = (id: string, value: Buffer) => sequence(objectId(id), octets(value));
const critical = (id: string, value: Buffer) => sequence(objectId(id), yes, octets(value));
const dnsName = (host: string) => element(0x82, Buffer.from(host, "latin1"));

function ipAddress(host: string): Buffer {
  const { family, first } = readRange(host);
  return element(0x87, Buffer.from(first.toString(16).padStart(family === 4 ? 8 : 32, "0"), "hex"));
}

// The few forms of DER that a certificate is written in.

/** An element with its length in the shortest form, as DER wants it. */
export function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content]);
}

function lengthOf(size: number): Buffer {
  if (size < 0x80) return Buffer.of(size);
  const bytes = bigEndian(BigInt(size));
  return Buffer.concat([Buffer.of(0x80 | bytes.length), bytes]);
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return element(0x30, ...parts);
}

export const set = (...parts: readonly Uint8Array[]) => element(0x31, ...parts);

/** Of a number that is not negative: a byte of zeros keeps the sign where the first bit is taken. */
export function integer(value: bigint): Buffer {
  const bytes = bigEndian(value);
  const isSignTaken = ((bytes[0] ?? 0) & 0x80) !== 0;
  return element(0x02, isSignTaken ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
}

function bigEndian(value: bigint): Buffer {
  const digits = value.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
}

/** "2.5.29.15" as its bytes: seven bits in each, the first two numbers in one. */
export function objectId(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  return element(0x06, Buffer.from([first * 40 + second, ...rest].flatMap(base128)));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) digits.unshift(0x80 | (left & 0x7f));
  return digits;
}

/** Letters, digits and a few signs: what addresses and versions are made of. */
export const printableString = (text: string) => element(0x13, Buffer.from(text, "latin1"));
export const octets = (content: Uint8Array) => element(0x04, content);
/** `unused` bits at the end of the last byte mean nothing. */
export const bits = (content: Uint8Array, unused = 0) => element(0x03, Buffer.of(unused), content);
export const yes = element(0x01, Buffer.of(0xff));

/** To the second. X.509 wants two digits of the year before 2050, and four from then on. */
export function time(ms: number): Buffer {
  const digits = `${formatTime(ms).slice(0, 19).replace(/[-T:]/g, "")}Z`;
  const isShort = digits < "2050" && digits >= "1950";
  return isShort ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits));
}

export function pem(label: string, der: Uint8Array): string {
  const text = Buffer.from(der)
    .toString("base64")
    .replace(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN ${label}-----\n${text}\n-----END ${label}-----\n`;
}
