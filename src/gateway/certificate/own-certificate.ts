/** What to serve and what to do next: kept before published, served once the chain shows it, and one at a time under way. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import {
  type CertificateWithKey,
  commonName,
  serialOf,
  serverAuth,
} from "../../chain/certificates/certificate-file.ts";
import { pem } from "../../chain/certificates/make-certificate.ts";
import type { Address } from "../../market/address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { day, minute } from "../../runtime/durations.ts";
import { certificateRenewShare } from "../acme/certificate-issuer.ts";

/** What the network's tools give theirs, too. */
const certificateLifeMs = 365 * day;
/** It begins before it is made, for clients whose clock is behind. */
const certificateBackdateMs = 10 * minute;
/** Of ours at once: the one that is served, those before it until they end, and the one that is to be. */
const certificatesKept = 4;

export interface CertificateState {
  readonly held: readonly KeptCertificate[];
  readonly kept: ReadonlySet<string>;
  /** Serials of those that the chain shows as valid, or as revoked. */
  readonly valid: ReadonlySet<string>;
  readonly revoked: ReadonlySet<string>;
  publication(serial: string): Publication;
  readonly hosts: readonly string[];
  readonly nowMs: number;
}

export type Publication =
  | { readonly kind: "none" | "under way" }
  /** It came to nothing; tried again from then on. */
  | { readonly kind: "failed"; readonly againAtMs: number; readonly why: string };

type NextStep =
  | { readonly kind: "nothing"; readonly untilMs: number }
  | { readonly kind: "make"; readonly why: string }
  | { readonly kind: "publish"; readonly certificate: KeptCertificate }
  | { readonly kind: "wait"; readonly why: string };

export interface CertificateDecision {
  readonly serve: KeptCertificate | undefined;
  /** All that should be kept; what is not among them is done with. */
  readonly keep: readonly KeptCertificate[];
  readonly next: NextStep;
}

export function decideOnCertificate(truths: CertificateState): CertificateDecision {
  const { held, kept, valid, revoked, publication, hosts, nowMs } = truths;
  const isOver = ({ serial, untilMs }: KeptCertificate) => revoked.has(serial) || untilMs <= nowMs;
  const onChain = held.filter((each) => valid.has(each.serial) && !isOver(each)).sort(byUse(hosts, nowMs));
  const [serve] = onChain;
  // Made by us, and not on the chain yet. What a person left unpublished is not ours to publish.
  const pending = held.filter((each) => kept.has(each.serial) && !valid.has(each.serial) && !isOver(each));
  const wanted = pending.find((each) => isGood(each, hosts, nowMs));
  const isUnderWay = (each: KeptCertificate) => publication(each.serial).kind === "under way";
  // A superseded one stays while it is valid on the chain: should the newer one be revoked, it is there at once.
  const keep = [
    ...onChain.filter((each) => kept.has(each.serial) || each === serve).slice(0, certificatesKept),
    ...pending.filter((each) => each === wanted || isUnderWay(each)),
  ];
  return { serve, keep, next: nextStep() };

  function nextStep(): NextStep {
    if (serve && isGood(serve, hosts, nowMs)) return { kind: "nothing", untilMs: renewAtMs(serve) };
    const waitedFor = pending.find(isUnderWay);
    if (waitedFor) return { kind: "wait", why: `certificate ${waitedFor.serial} is on its way to the chain` };
    if (!wanted) return { kind: "make", why: whyAnother(serve, truths) };
    const published = publication(wanted.serial);
    if (published.kind !== "failed" || published.againAtMs <= nowMs) return { kind: "publish", certificate: wanted };
    return { kind: "wait", why: published.why };
  }
}

function isGood(certificate: KeptCertificate, hosts: readonly string[], nowMs: number): boolean {
  return certificate.serves(hosts) && isValidAt(certificate, nowMs) && nowMs < renewAtMs(certificate);
}

/** Not so where the clock is another than when it was made, or at its end: clients do not take it then. */
export function isValidAt({ fromMs, untilMs }: KeptCertificate, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < untilMs;
}

function byUse(hosts: readonly string[], nowMs: number) {
  return (left: KeptCertificate, right: KeptCertificate) =>
    Number(isValidAt(right, nowMs)) - Number(isValidAt(left, nowMs)) ||
    Number(right.serves(hosts)) - Number(left.serves(hosts)) ||
    right.untilMs - left.untilMs;
}

function whyAnother(serve: KeptCertificate | undefined, { hosts, revoked, held, nowMs }: CertificateState): string {
  if (serve && !serve.serves(hosts)) return `the one on the chain is not for ${hosts.join(", ") || "a server"}`;
  if (serve && !isValidAt(serve, nowMs)) return "the one on the chain begins later than now";
  if (serve) return "the one on the chain ends soon";
  return held.some(({ serial }) => revoked.has(serial))
    ? "the one on the chain was revoked"
    : "there is none on the chain";
}

export function newValidity(clock: Pick<Clock, "now">): { readonly fromMs: number; readonly untilMs: number } {
  const nowMs = clock.now();
  return { fromMs: nowMs - certificateBackdateMs, untilMs: nowMs + certificateLifeMs };
}

/** … and of one that was given a short life, a week. */
const certificateRenewLeastMs = 7 * day;

export interface KeptCertificate extends CertificateWithKey {
  /** In decimal digits, as the chain writes it: within an account, its name. */
  readonly serial: string;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly der: Uint8Array;
  /** Clients accept it from a server, and it is for all of these names. */
  serves(hosts: readonly string[]): boolean;
}

export function readKept({ certificate, key }: CertificateWithKey, owner: Address): KeptCertificate {
  const read = new X509Certificate(certificate);
  if (commonName(read.subject) !== owner) throw new Error(`the certificate is not that of ${owner}`);
  if (!read.checkPrivateKey(createPrivateKey(key))) throw new Error("the key does not belong to the certificate");
  return {
    certificate,
    key,
    serial: `${serialOf(read)}`,
    fromMs: read.validFromDate.getTime(),
    untilMs: read.validToDate.getTime(),
    der: read.raw,
    serves: (hosts) => (read.keyUsage ?? []).includes(serverAuth) && hosts.every((host) => isFor(read, host)),
  };
}

function isFor(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

/** With the label that the chain insists on. */
export function publicKeyOf({ certificate }: CertificateWithKey): string {
  return pem("EC PUBLIC KEY", new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" }));
}

export function renewAtMs({ fromMs, untilMs }: Pick<KeptCertificate, "fromMs" | "untilMs">): number {
  return untilMs - Math.max((untilMs - fromMs) * certificateRenewShare, certificateRenewLeastMs);
}
