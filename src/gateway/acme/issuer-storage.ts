/** The issuer's directory, with the layout of the Go provider's. Files of a set change atomically; two processes may share it. */
import { generateKeyPairSync } from "node:crypto";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import { syncFolder } from "../../journal/lock.ts";
import type { Boundary } from "../../runtime/boundary.ts";
import type { Clock } from "../../runtime/clock.ts";
import { hour } from "../../runtime/durations.ts";
import { systemCodeOf } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { parseJson } from "../../runtime/parse-json.ts";

interface StorageOptions {
  readonly dir: string;
  readonly directoryUrl: string;
  readonly email: string;
  readonly host: string;
}

interface IssuerOrder {
  /** Written before the order is placed, so that no issued certificate is lost. */
  readonly key: string;
  readonly url?: string;
}

/** Consecutive failures, kept so that repeated restarts do not exhaust the authority's rate limit. */
interface Attempts {
  readonly failures: number;
  readonly failedAtMs: number;
  readonly why: string;
}

export interface StoredCertificate extends CertificateWithKey {
  /** URL of the authority's directory or, as written by the Go provider, of the certificate. */
  readonly from: string | undefined;
}

export type IssuerStorage = ReturnType<typeof openIssuerStorage>;

export const noAttempts: Attempts = { failures: 0, failedAtMs: 0, why: "" };

export function openIssuerStorage(
  options: StorageOptions,
  { boundary, clock }: { readonly boundary: Boundary; readonly clock: Pick<Clock, "now"> },
) {
  const { dir, directoryUrl, email, host } = options;
  const accountDir = join(dir, "accounts", new URL(directoryUrl).host.replaceAll(":", "_"), email);
  const accountPath = join(accountDir, "account.json");
  const keyPath = join(accountDir, "keys", `${email}.key`);
  const certificates = join(dir, "certificates");
  const certificatePath = (kind: string) => join(certificates, `${host}.${kind}`);
  // Not of the Go provider's layout, which does not keep orders.
  const orderPath = join(dir, "orders", `${host}.json`);
  const attemptsPath = join(dir, "orders", `${host}.attempts.json`);

  function account() {
    const key = read(keyPath) ?? addFile(keyPath, newKey(), boundary);
    const { registration } = readRecord(accountPath);
    const url = isRecord(registration) ? registration["uri"] : undefined;
    return { key, url: typeof url === "string" && url !== "" ? url : undefined };
  }

  return {
    removeLeftovers(): void {
      const folders = [accountPath, keyPath, certificatePath("crt"), orderPath].map(dirname);
      for (const folder of folders) removeLeftovers(folder, clock.now());
    },
    /** Creates its key where there is none. */
    account,
    keepRegistration: (registration: { readonly uri: string; readonly body: unknown }) =>
      replaceFile(accountPath, json({ email, registration }), boundary),
    certificate(): StoredCertificate | undefined {
      completeSet(certificates, host, boundary);
      const [certificate, key] = [read(certificatePath("crt")), read(certificatePath("key"))];
      if (certificate === undefined || key === undefined) return undefined;
      const { authority, certUrl } = readRecord(certificatePath("json"));
      const from = [authority, certUrl].find((each) => typeof each === "string");
      return { certificate, key, from };
    },
    keepCertificate({ certificate, key, url }: CertificateWithKey & { readonly url: string }): void {
      const behind = certificate.indexOf("-----BEGIN CERTIFICATE-----", 1);
      const issuer = behind < 0 ? "" : certificate.slice(behind);
      const resource = { domain: host, certUrl: url, certStableUrl: url, authority: directoryUrl };
      const files = { key, "issuer.crt": issuer, json: json(resource), crt: certificate };
      putSet(certificates, host, files, boundary);
    },
    /** The pending one, or a new one. */
    order(): IssuerOrder {
      const { authority, key, url } = readRecord(orderPath);
      if (authority === directoryUrl && typeof key === "string")
        return { key, ...(typeof url === "string" && { url }) };
      rmSync(orderPath, { force: true });
      const made = { authority: directoryUrl, key: newKey() };
      const added = parseJson(addFile(orderPath, json(made), boundary));
      return isRecord(added) && typeof added["key"] === "string" ? { key: added["key"] } : made;
    },
    keepOrder: (order: IssuerOrder) => replaceFile(orderPath, json({ authority: directoryUrl, ...order }), boundary),
    dropOrder(): void {
      boundary.cross("file", `${orderPath}:before`);
      rmSync(orderPath, { force: true });
      boundary.cross("file", `${orderPath}:after`);
    },
    get attempts(): Attempts {
      const { failures, failedAtMs, why = "" } = readRecord(attemptsPath);
      if (typeof failures !== "number" || typeof failedAtMs !== "number" || typeof why !== "string") return noAttempts;
      return { failures, failedAtMs, why };
    },
    keepAttempts: (attempts: Attempts) => replaceFile(attemptsPath, json(attempts), boundary),
  };
}

function read(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

/** Invalid JSON counts as missing: all but the keys, which are separate files, can be fetched again. */
function readRecord(path: string): Record<string, unknown> {
  const value = parseJson(read(path) ?? "");
  return isRecord(value) ? value : {};
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** In the format of the Go provider. */
function newKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-384" });
  return privateKey.export({ type: "sec1", format: "pem" }).toString();
}

/** Age of temporary files after which they are left over from a crash. */
const acmeLeftoverMs = hour;

const temporary = ".new-";

function replaceFile(path: string, text: string, boundary: Boundary): void {
  staged(dirname(path), { [basename(path)]: text }, (folder) => {
    boundary.cross("file", `${path}:before`);
    renameSync(join(folder, basename(path)), path);
    syncFolder(dirname(path));
    boundary.cross("file", `${path}:after`);
  });
}

/** Returns the content of the file: of two processes that add it at once, both get the first one's. */
function addFile(path: string, text: string, boundary: Boundary): string {
  staged(dirname(path), { [basename(path)]: text }, (folder) => {
    boundary.cross("file", `${path}:before`);
    try {
      linkSync(join(folder, basename(path)), path);
    } catch (thrown) {
      if (systemCodeOf(thrown) !== "EEXIST") throw thrown;
    }
    syncFolder(dirname(path));
    boundary.cross("file", `${path}:after`);
  });
  return readFileSync(path, "utf8");
}

/** Writes `<name>.<kind>` for every kind. Committed by renaming their directory; readers complete an interrupted commit. */
function putSet(dir: string, name: string, texts: Readonly<Record<string, string>>, boundary: Boundary): void {
  const files = Object.fromEntries(Object.entries(texts).map(([kind, text]) => [`${name}.${kind}`, text]));
  staged(dir, files, (folder) => {
    completeSet(dir, name, boundary);
    boundary.cross("file", `${name}:before`);
    renameSync(folder, readyFolder(dir, name));
    syncFolder(dir);
    boundary.cross("file", `${name}:after`);
  });
  completeSet(dir, name, boundary);
}

function completeSet(dir: string, name: string, boundary: Boundary): void {
  const ready = readyFolder(dir, name);
  if (!existsSync(ready)) return;
  for (const file of readdirSync(ready)) {
    boundary.cross("file", `${file}:before`);
    try {
      renameSync(join(ready, file), join(dir, file));
    } catch (thrown) {
      // Another process has moved it.
      if (systemCodeOf(thrown) !== "ENOENT") throw thrown;
    }
    boundary.cross("file", `${file}:after`);
  }
  syncFolder(dir);
  rmSync(ready, { recursive: true, force: true });
}

function readyFolder(dir: string, name: string): string {
  return join(dir, `.${name}.ready`);
}

function removeLeftovers(dir: string, nowMs: number): void {
  if (!existsSync(dir)) return;
  for (const name of readdirSync(dir).filter((each) => each.startsWith(temporary))) {
    const path = join(dir, name);
    // Another process may be writing now.
    if (statSync(path).mtimeMs < nowMs - acmeLeftoverMs) rmSync(path, { recursive: true, force: true });
  }
}

/** Writes files into a temporary directory beside their destination. */
function staged(dir: string, files: Readonly<Record<string, string>>, use: (folder: string) => void): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(dir, temporary));
  try {
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(folder, name), text, { flag: "wx", mode: 0o600, flush: true });
    syncFolder(folder);
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
