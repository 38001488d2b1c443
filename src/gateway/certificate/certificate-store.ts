/** Stores the provider's certificates with their keys, before they are published on the chain. */
import { X509Certificate } from "node:crypto";
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type CertificateWithKey, serialOf } from "../../chain/certificates/certificate-file.ts";
import { syncFolder } from "../../journal/lock.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject } from "../../kube/kube.ts";
import type { Address } from "../../market/address.ts";
import type { Boundary } from "../../runtime/boundary.ts";
import { readText } from "../../runtime/followed-file.ts";
import { isRecord } from "../../runtime/is-record.ts";

export interface CertificateStore {
  readonly where: string;
  read(signal: AbortSignal): Promise<StoredCertificates>;
  /** Replaces what was read; fails where another process has written since. */
  write(certificates: readonly CertificateWithKey[], read: StoredCertificates, signal: AbortSignal): Promise<void>;
}

export interface StoredCertificates {
  readonly certificates: readonly CertificateWithKey[];
  /** Undefined where nothing is stored. */
  readonly version: string | undefined;
}

/** In a file, which the data directory's lock protects from other processes. */
export function createFileStore(path: string, boundary: Boundary): CertificateStore {
  return {
    where: path,
    async read() {
      if (!existsSync(path)) return { certificates: [], version: undefined };
      return { certificates: inPairs(readText(path).text), version: "" };
    },
    async write(certificates) {
      const text = certificates.map(({ certificate, key }) => `${certificate}${key}`).join("");
      boundary.cross("file", "certificates:before");
      // An existing file would keep its mode, and a link would be followed.
      rmSync(`${path}.new`, { force: true });
      writeFileSync(`${path}.new`, text, { flag: "wx", mode: 0o600, flush: true });
      renameSync(`${path}.new`, path);
      syncFolder(dirname(path));
      boundary.cross("file", "certificates:after");
    },
  };
}

const block = /-----BEGIN ([A-Z ]{1,40})-----[^-]*-----END \1-----\n/g;

function inPairs(text: string): CertificateWithKey[] {
  const blocks = [...text.matchAll(block)];
  return blocks.flatMap(([certificate, label], index) => {
    const key = blocks[index + 1]?.[0];
    return label === "CERTIFICATE" && key !== undefined ? [{ certificate, key }] : [];
  });
}

// In a Secret: `<serial>.crt` and `<serial>.key`.

/** One per account. */
export function secretNameOf(owner: Address): string {
  return `akash-provider-certificate-${owner}`;
}

export function createSecretStore(
  kube: Pick<Kube, "get" | "create" | "patch">,
  namespace: string,
  owner: Address,
): CertificateStore {
  const at = { namespace, name: secretNameOf(owner) };
  return {
    where: `Secret ${at.namespace}/${at.name}`,
    async read(signal) {
      const secret = await kube.get(kinds.secret, at, { signal });
      return { certificates: secret ? inData(secret) : [], version: secret?.metadata.resourceVersion };
    },
    async write(certificates, { version }, signal) {
      const data = dataOf(certificates);
      if (version === undefined) {
        await kube.create(kinds.secret, { metadata: at, type: "Opaque", data }, { signal });
        return;
      }
      const isTheOneRead = { op: "test", path: "/metadata/resourceVersion", value: version } as const;
      await kube.patch(kinds.secret, at, [isTheOneRead, { op: "add", path: "/data", value: data }], { signal });
    },
  };
}

function dataOf(certificates: readonly CertificateWithKey[]): Record<string, string> {
  return Object.fromEntries(
    certificates.flatMap(({ certificate, key }) => {
      const serial = serialOf(new X509Certificate(certificate));
      return Object.entries({ [`${serial}.crt`]: inBase64(certificate), [`${serial}.key`]: inBase64(key) });
    }),
  );
}

function inData({ data }: KubeObject): CertificateWithKey[] {
  if (!isRecord(data)) return [];
  return Object.entries(data).flatMap(([name, value]) => {
    const key = name.endsWith(".crt") ? data[name.replace(/crt$/, "key")] : undefined;
    return typeof value === "string" && typeof key === "string" ? [{ certificate: text(value), key: text(key) }] : [];
  });
}

function inBase64(content: string): string {
  return Buffer.from(content).toString("base64");
}

function text(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}
