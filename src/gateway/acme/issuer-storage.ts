/** The issuer's folder, laid out like that of the network's provider: sets change together, and two programs may share it. */
import { generateKeyPairSync } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
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

interface IssuerAccount {
  readonly key: string;
  readonly url: string | undefined;
}

interface IssuerOrder {
  /** Kept before the authority hears of it, so that what it issues is never lost. */
  readonly key: string;
  readonly url?: string;
}

/** Failures in a row, kept so that a provider that restarts again and again does not use up its attempts. */
interface Attempts {
  readonly failures: number;
  readonly failedAtMs: number;
  readonly why: string;
}

interface IssuedCertificate extends CertificateWithKey {
  readonly url: string;
}

export interface StoredCertificate extends CertificateWithKey {
  /** The authority's directory or, where the network's provider kept it, the certificate's address there. */
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
  // Not of the network's layout: its provider forgets what is under way.
  const orderPath = join(dir, "orders", `${host}.json`);
  const attemptsPath = join(dir, "orders", `${host}.attempts.json`);

  function account(): IssuerAccount {
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
    /** Its key is made first where there is none. */
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
    keepCertificate({ certificate, key, url }: IssuedCertificate): void {
      const behind = certificate.indexOf("-----BEGIN CERTIFICATE-----", 1);
      const issuer = behind < 0 ? "" : certificate.slice(behind);
      const resource = { domain: host, certUrl: url, certStableUrl: url, authority: directoryUrl };
      const files = { key, "issuer.crt": issuer, json: json(resource), crt: certificate };
      putSet(certificates, host, files, boundary);
    },
    /** The one under way, or a new one. */
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

/** What is no JSON counts as missing: all of it can be had again but the keys, which are files of their own. */
function readRecord(path: string): Record<string, unknown> {
  const value = parseJson(read(path) ?? "");
  return isRecord(value) ? value : {};
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** Of the kind and in the form that the network's provider makes them. */
function newKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-384" });
  return privateKey.export({ type: "sec1", format: "pem" }).toString();
}

/** What a crash left half written is taken away when it is older than any write lasts. */
const acmeLeftoverMs = hour;

const unfinished = ".new-";

function replaceFile(path: string, text: string, boundary: Boundary): void {
  staged(dirname(path), { [basename(path)]: text }, (folder) => {
    boundary.cross("file", `${path}:before`);
    renameSync(join(folder, basename(path)), path);
    syncFolder(dirname(path));
    boundary.cross("file", `${path}:after`);
  });
}

/** What the file holds afterwards: of two who add it at once, both get what the first one wrote. */
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

/** `<name>.<kind>` of every kind. From the renaming of their folder on, whoever reads finishes what was begun. */
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
      // Somebody else is at it too.
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
  for (const name of readdirSync(dir).filter((each) => each.startsWith(unfinished))) {
    const path = join(dir, name);
    // Somebody else may be writing now.
    if (statSync(path).mtimeMs < nowMs - acmeLeftoverMs) rmSync(path, { recursive: true, force: true });
  }
}

/** Writes them into a folder of their own beside where they are to be, which nobody else knows, and is gone afterwards. */
function staged(dir: string, files: Readonly<Record<string, string>>, use: (folder: string) => void): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(dir, unfinished));
  try {
    for (const [name, text] of Object.entries(files)) {
      const file = openSync(join(folder, name), "wx", 0o600);
      try {
        writeFileSync(file, text);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    }
    syncFolder(folder);
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
