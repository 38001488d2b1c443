/** Where our certificates and their keys are kept, so that the next start finds them: before the chain hears of them. */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import { syncFolder } from "../../journal/folder.ts";
import type { Boundary } from "../../runtime/boundary.ts";
import { readText } from "../../runtime/followed-file.ts";

export interface CertificateStore {
  /** For people. */
  readonly where: string;
  read(signal: AbortSignal): Promise<StoredCertificates>;
  /** In the place of what was read, and of nothing else: it fails where somebody has written since. */
  write(certificates: readonly CertificateWithKey[], read: StoredCertificates, signal: AbortSignal): Promise<void>;
}

export interface StoredCertificates {
  /** As they were found; nobody has looked at them yet. */
  readonly certificates: readonly CertificateWithKey[];
  /** Which state of the store that was; undefined where there was nothing at all. */
  readonly version: string | undefined;
}

/** A file for us alone. The data directory's lock keeps everybody else from writing it. */
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
      // A file that is there already would keep its mode, and a link would lead elsewhere.
      rmSync(`${path}.new`, { force: true });
      const file = openSync(`${path}.new`, "wx", 0o600);
      try {
        writeFileSync(file, text);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(`${path}.new`, path);
      syncFolder(dirname(path));
      boundary.cross("file", "certificates:after");
    },
  };
}

const block = /-----BEGIN ([A-Z ]{1,40})-----[^-]*-----END \1-----\n/g;

/** Each certificate with the key that follows it. */
function inPairs(text: string): CertificateWithKey[] {
  const blocks = [...text.matchAll(block)];
  return blocks.flatMap(([certificate, label], index) => {
    const key = blocks[index + 1]?.[0];
    return label === "CERTIFICATE" && key !== undefined ? [{ certificate, key }] : [];
  });
}
