/** Certificates for tests, put together byte by byte: Node can read them but not make them. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import {
  bits,
  element,
  integer,
  objectId,
  octets,
  pem,
  sequence,
  set,
  yes,
} from "../../src/chain/certificates/make-certificate.ts";
import { formatTime } from "../../src/runtime/clock.ts";

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
  readonly from?: string;
  /** Of its key; "ec" if not said. */
  readonly kind?: "ec" | "rsa";
  /** The key itself, where there is one already. */
  readonly keyPem?: string;
  readonly host?: string;
  readonly address?: string;
}

/** "20200102000000Z", as wishes have it. */
export function certificateTime(ms: number): string {
  return formatTime(ms).replaceAll(/[-:T]|\.\d+/g, "");
}

/** For an address, or for a host. */
export function makeCertificate({
  name,
  issuer,
  group,
  from = "20200101000000Z",
  until = "20990101000000Z",
  kind = "ec",
  keyPem,
  host,
  address = "127.0.0.1",
}: Wishes): TestCertificate {
  const privateKey = keyPem === undefined ? newKey(kind) : createPrivateKey(keyPem);
  const algorithm = kind === "ec" ? ecdsaWithSha256 : rsaWithSha256;
  const body = sequence(
    element(0xa0, integer(2n)),
    integer(serial++),
    algorithm,
    nameOf(issuer?.name ?? name),
    sequence(time(from), time(until)),
    nameOf(name, group),
    createPublicKey(privateKey).export({ type: "spki", format: "der" }),
    element(0xa3, sequence(basicConstraints(issuer === undefined), namesOf(host, address))),
  );
  const signature = sign("sha256", body, issuer?.key ?? privateKey);
  const der = sequence(body, algorithm, bits(signature));
  return {
    name,
    certPem: pem("CERTIFICATE", der),
    keyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    key: privateKey,
  };
}

let serial = 1n;

function newKey(kind: "ec" | "rsa"): KeyObject {
  return kind === "ec"
    ? generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
    : generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey;
}

function time(text: string): Buffer {
  return element(0x18, Buffer.from(text));
}

function nameOf(commonName: string, organization?: string): Buffer {
  const attribute = (kind: number, text: string) =>
    set(sequence(objectId(`2.5.4.${kind}`), element(0x0c, Buffer.from(text))));
  const name = attribute(3, commonName);
  return organization === undefined ? sequence(name) : sequence(attribute(10, organization), name);
}

const ecdsaWithSha256 = sequence(objectId("1.2.840.10045.4.3.2"));
const rsaWithSha256 = sequence(objectId("1.2.840.113549.1.1.11"), element(0x05));

function basicConstraints(isAuthority: boolean): Buffer {
  const value = isAuthority ? sequence(yes) : sequence();
  return sequence(objectId("2.5.29.19"), yes, octets(value));
}

function namesOf(host: string | undefined, address: string): Buffer {
  const ip = Buffer.from(address.split(".").map(Number));
  const name = host === undefined ? element(0x87, ip) : element(0x82, Buffer.from(host));
  return sequence(objectId("2.5.29.17"), octets(sequence(name)));
}
