/** A public certificate from two files that something else renews; the last good one is shown until it ends. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import { type Clock, formatTime } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { followFile } from "../../runtime/followed-file.ts";
import type { Log } from "../../runtime/log.ts";

/** Where certificates that clients are shown come from: our own, which is on the chain, and one of a public authority. */
export interface CertificateSource {
  /** Undefined while there is none that may be served. */
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

/** How far our clock may be behind that of who made a certificate; authorities date theirs back by an hour besides. */
const certificateSkewMs = 10 * minute;

export interface CertificateFiles {
  /** The certificate first; those that lead to the authority behind it. */
  readonly certificate: string;
  readonly key: string;
}

export interface PublicCertificate extends CertificateSource {
  readonly untilMs: number | undefined;
  readonly trouble: string | undefined;
}

interface Good extends CertificateWithKey {
  readonly fromMs: number;
  readonly untilMs: number;
}

export function followCertificateFiles(
  files: CertificateFiles,
  host: string | undefined,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): PublicCertificate & { close(): void } {
  const asItIs = (text: string) => text;
  const certificate = followFile({ path: files.certificate, read: asItIs, what: "certificate" }, { clock, log });
  const key = followFile({ path: files.key, read: asItIs, what: "key of the certificate" }, { clock, log });
  const source = createSource<Good>();
  let trouble: string | undefined;

  function look(): void {
    const good = judge() ?? source.current;
    const isOver = good && good.untilMs <= clock.now();
    if (source.show(isOver ? undefined : good) && good && !isOver)
      log.info("serving certificate from files", { path: files.certificate, until: formatTime(good.untilMs) });
  }

  function judge(): Good | undefined {
    const was = trouble;
    try {
      const missing = certificate.trouble ?? key.trouble;
      if (missing !== undefined) throw new Error(missing);
      const read = readPair(certificate.current ?? "", key.current ?? "", host, clock.now());
      trouble = undefined;
      return read;
    } catch (thrown) {
      trouble = reasonOf(thrown);
      if (trouble !== was)
        log.error("certificate from files cannot be served", { path: files.certificate, reason: trouble });
      return undefined;
    }
  }

  look();
  // The key is read last: when it is looked at, both are as they were found just now.
  key.onLook(look);
  return {
    onChange: source.onChange,
    get current() {
      return source.current;
    },
    get untilMs() {
      return source.current?.untilMs;
    },
    get trouble() {
      return trouble;
    },
    close() {
      certificate.close();
      key.close();
    },
  };
}

export function readPair(certificate: string, key: string, host: string | undefined, nowMs: number): Good {
  const leaf = new X509Certificate(certificate);
  const [fromMs, untilMs] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error("the key does not belong to the certificate");
  if (untilMs <= nowMs) throw new Error(`the certificate ended at ${formatTime(untilMs)}`);
  if (fromMs > nowMs + certificateSkewMs) throw new Error(`the certificate begins at ${formatTime(fromMs)}`);
  if (host === undefined) throw new Error("it is for a public host name, and cluster-public-hostname is not set");
  if (leaf.checkHost(host) === undefined) throw new Error(`the certificate is not for ${host}`);
  // Those behind it must be readable too.
  createSecureContext({ cert: certificate, key });
  return { certificate, key, fromMs, untilMs };
}
