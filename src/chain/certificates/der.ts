/** The few forms of DER that a certificate is written in. */
import { formatTime } from "../../runtime/clock.ts";

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

export function set(...parts: readonly Uint8Array[]): Buffer {
  return element(0x31, ...parts);
}

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
export function printable(text: string): Buffer {
  return element(0x13, Buffer.from(text, "latin1"));
}

export function octets(content: Uint8Array): Buffer {
  return element(0x04, content);
}

/** `unused` bits at the end of the last byte mean nothing. */
export function bits(content: Uint8Array, unused = 0): Buffer {
  return element(0x03, Buffer.of(unused), content);
}

export const yes = element(0x01, Buffer.of(0xff));

/** To the second. X.509 wants two digits of the year before 2050, and four from then on. */
export function time(ms: number): Buffer {
  const digits = `${formatTime(ms).slice(0, 19).replace(/[-T:]/g, "")}Z`;
  const isShort = digits < "2050" && digits >= "1950";
  return isShort ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits));
}

export function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
