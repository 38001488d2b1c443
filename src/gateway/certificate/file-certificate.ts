/** A public certificate from two files that another program renews; the last valid one is served until it expires. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import { type Clock, formatTime } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { followFile } from "../../runtime/followed-file.ts";
import type { Log } from "../../runtime/log.ts";

export interface CertificateSource {
  /** Undefined while there is none to serve. */
  readonly current: CertificateWithKey | undefined;
  /** Called after every change. */
  onChange(listener: () => void): void;
}

export const noCertificate: CertificateSource = { current: undefined, onChange: () => undefined };

export function createSource<T extends CertificateWithKey>() {
  const listeners: (() => void)[] = [];
  let current: T | undefined;
  return {
    show(next: T | undefined): boolean {
      const isSame = next?.certificate === current?.certificate && next?.key === current?.key;
      current = next;
      if (!isSame) for (const listener of listeners) listener();
      return !isSame;
    },
    get current() {
      return current;
    },
    onChange: (listener: () => void) => void listeners.push(listener),
  };
}

/** How far the local clock may be behind the issuer's. */
const certificateSkewMs = 10 * minute;

export interface CertificateFiles {
  /** With the chain of issuers behind it. */
  readonly certificate: string;
  readonly key: string;
}

export interface DatedCertificate extends CertificateWithKey {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface PublicCertificate extends CertificateSource {
  readonly current: DatedCertificate | undefined;
  readonly error: string | undefined;
}

export function followCertificateFiles(
  files: CertificateFiles,
  host: string | undefined,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): PublicCertificate & { close(): void } {
  const asItIs = (text: string) => text;
  const certificate = followFile({ path: files.certificate, read: asItIs, what: "certificate" }, { clock, log });
  const key = followFile({ path: files.key, read: asItIs, what: "key of the certificate" }, { clock, log });
  const source = createSource<DatedCertificate>();
  let error: string | undefined;

  function check(): void {
    const good = read() ?? source.current;
    const isOver = good && good.untilMs <= clock.now();
    if (source.show(isOver ? undefined : good) && good && !isOver)
      log.info("serving certificate from files", { path: files.certificate, until: formatTime(good.untilMs) });
  }

  function read(): DatedCertificate | undefined {
    const before = error;
    try {
      const missing = certificate.trouble ?? key.trouble;
      if (missing !== undefined) throw new Error(missing);
      const pair = readPair(certificate.current ?? "", key.current ?? "", host, clock.now());
      error = undefined;
      return pair;
    } catch (thrown) {
      error = reasonOf(thrown);
      if (error !== before)
        log.error("certificate from files cannot be served", { path: files.certificate, reason: error });
      return undefined;
    }
  }

  check();
  // The key is read last: both are current then.
  key.onLook(check);
  return {
    onChange: source.onChange,
    get current() {
      return source.current;
    },
    get error() {
      return error;
    },
    close() {
      certificate.close();
      key.close();
    },
  };
}

export function readPair(certificate: string, key: string, host: string | undefined, nowMs: number): DatedCertificate {
  const leaf = new X509Certificate(certificate);
  const [fromMs, untilMs] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error("the key does not belong to the certificate");
  if (untilMs <= nowMs) throw new Error(`the certificate ended at ${formatTime(untilMs)}`);
  if (fromMs > nowMs + certificateSkewMs) throw new Error(`the certificate begins at ${formatTime(fromMs)}`);
  if (host === undefined) throw new Error("it is for a public host name, and cluster-public-hostname is not set");
  if (leaf.checkHost(host) === undefined) throw new Error(`the certificate is not for ${host}`);
  // The chain must be readable too.
  createSecureContext({ cert: certificate, key });
  return { certificate, key, fromMs, untilMs };
}
