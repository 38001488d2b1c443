/** What is shown to clients in a handshake: certificates with their keys, which change while we run. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import { type Clock, formatTime } from "../../runtime/clock.ts";
import { minute } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { followFile } from "../../runtime/followed-file.ts";
import type { Log } from "../../runtime/log.ts";

/** Where certificates come from: our own, which is on the chain, and one of a public authority. */
export interface CertificateSource {
  /** Undefined while there is none that may be served. */
  readonly current: CertificateWithKey | undefined;
  /** Told after every change. */
  onChange(listener: () => void): void;
}

/** Where there is none. */
export const noCertificate: CertificateSource = { current: undefined, onChange: () => undefined };

// A certificate of a public authority, from two files that somebody else renews: certbot, cert-manager, a person. They may come later, and are read again when they change. What does not belong together, is over or is for another name is told of, and what was good stays; once that is over as well, our own certificate is shown instead, which the network's tools accept.

/** How far our clock may be behind that of who made a certificate for us; authorities date theirs back by an hour besides. */
const certificateSkewMs = 10 * minute;

export interface CertificateFiles {
  /** The certificate first; those that lead to the authority behind it. */
  readonly certificate: string;
  readonly key: string;
}

export interface FileCertificate extends CertificateSource {
  readonly untilMs: number | undefined;
  /** Why what the files hold now is not shown. */
  readonly trouble: string | undefined;
  close(): void;
}

interface Good extends CertificateWithKey {
  readonly untilMs: number;
}

export function followCertificateFiles(
  files: CertificateFiles,
  host: string | undefined,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): FileCertificate {
  const asItIs = (text: string) => text;
  const certificate = followFile({ path: files.certificate, read: asItIs, what: "certificate" }, { clock, log });
  const key = followFile({ path: files.key, read: asItIs, what: "key of the certificate" }, { clock, log });
  const listeners: (() => void)[] = [];
  let good: Good | undefined;
  let trouble: string | undefined;

  function look(): void {
    const before = good;
    const found = judge();
    if (found) good = found;
    if (good && good.untilMs <= clock.now()) good = undefined;
    if (good?.certificate === before?.certificate && good?.key === before?.key) return;
    if (good) log.info("serving certificate from files", { path: files.certificate, until: formatTime(good.untilMs) });
    for (const listener of listeners) listener();
  }

  /** Undefined where what is there now is not good, and why is told. */
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
    get current() {
      return good;
    },
    get untilMs() {
      return good?.untilMs;
    },
    get trouble() {
      return trouble;
    },
    onChange: (listener) => void listeners.push(listener),
    close() {
      certificate.close();
      key.close();
    },
  };
}

/** Throws why it cannot be shown for this name. */
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
  return { certificate, key, untilMs };
}
