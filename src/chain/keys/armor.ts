/** ASCII armor (RFC 4880, section 6): a kind, headers, bytes in base64 and a checksum of 24 bits. */

export interface Armor {
  /** What stands after BEGIN, for instance "TENDERMINT PRIVATE KEY". */
  readonly kind: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly bytes: Uint8Array;
}

const begin = /^-----BEGIN ([A-Z0-9 ]+)-----$/;
const end = /^-----END ([A-Z0-9 ]+)-----$/;
const header = /^(\w+): (.*)$/;
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;
const checksum = /^=([A-Za-z0-9+/]{4})$/;

export function isArmored(text: string): boolean {
  return text.includes("-----BEGIN ");
}

/** What the text says, or what is wrong with it. Blank lines and indentation do not survive every paste, so neither counts. */
export function readArmor(text: string): Armor | { readonly fault: string } {
  const lines = text.split("\n").map((line) => line.trim());
  const first = lines.findIndex((line) => begin.test(line));
  const last = lines.findIndex((line, at) => at > first && end.test(line));
  const kind = begin.exec(lines[first] ?? "")?.[1];
  if (kind === undefined) return { fault: "its BEGIN line is not whole" };
  if (end.exec(lines[last] ?? "")?.[1] !== kind) return { fault: `it has no line that says END ${kind}` };

  const headers = new Map<string, string>();
  let body = "";
  let sum: string | undefined;
  for (const [offset, line] of lines.slice(first + 1, last).entries()) {
    const [, name, value] = header.exec(line) ?? [];
    if (name !== undefined && value !== undefined) headers.set(name, value);
    else if (checksum.test(line)) sum = checksum.exec(line)?.[1];
    else if (base64.test(line)) body += line;
    else if (line !== "") return { fault: `its line ${first + offset + 2} is not base64` };
  }
  const bytes = Buffer.from(body, "base64");
  if (sum !== undefined && Buffer.from(sum, "base64").readUIntBE(0, 3) !== crc24(bytes)) {
    return { fault: "its checksum does not match, so some character was lost or changed" };
  }
  return { kind, headers, bytes };
}

/** Start value and generator are those of the RFC. */
export function crc24(bytes: Uint8Array): number {
  let register = 0xb704ce;
  for (const byte of bytes) {
    register ^= byte << 16;
    for (let bit = 0; bit < 8; bit += 1) {
      register <<= 1;
      if (register & 0x1000000) register ^= 0x1864cfb;
    }
  }
  return register;
}
