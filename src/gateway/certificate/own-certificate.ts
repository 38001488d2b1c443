/** Decides on the provider's certificate: stored before it is published, served once it is on the chain, one pending at a time. */
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

/** As the network's tools. */
const certificateLifeMs = 365 * day;
/** For clients whose clock is behind. */
const certificateBackdateMs = 10 * minute;
/** The served one, its predecessors until they expire, and the next one. */
const certificatesKept = 4;

export interface CertificateState {
  readonly held: readonly KeptCertificate[];
  readonly kept: ReadonlySet<string>;
  /** Serials that are valid, or revoked, on the chain. */
  readonly valid: ReadonlySet<string>;
  readonly revoked: ReadonlySet<string>;
  publication(serial: string): Publication;
  readonly hosts: readonly string[];
  readonly nowMs: number;
}

export type Publication =
  | { readonly kind: "none" | "under way" }
  | { readonly kind: "failed"; readonly againAtMs: number; readonly why: string };

type NextStep =
  | { readonly kind: "nothing"; readonly untilMs: number }
  | { readonly kind: "make"; readonly why: string }
  | { readonly kind: "publish"; readonly certificate: KeptCertificate }
  | { readonly kind: "wait"; readonly why: string };

export interface CertificateDecision {
  readonly serve: KeptCertificate | undefined;
  /** All others are removed. */
  readonly keep: readonly KeptCertificate[];
  readonly next: NextStep;
}

export function decideOnCertificate(state: CertificateState): CertificateDecision {
  const { held, kept, valid, revoked, publication, hosts, nowMs } = state;
  const isOver = ({ serial, untilMs }: KeptCertificate) => revoked.has(serial) || untilMs <= nowMs;
  const onChain = held.filter((each) => valid.has(each.serial) && !isOver(each)).sort(byUse(hosts, nowMs));
  const [serve] = onChain;
  // Only those made here: a certificate file of the operator is not published.
  const pending = held.filter((each) => kept.has(each.serial) && !valid.has(each.serial) && !isOver(each));
  const wanted = pending.find((each) => isGood(each, hosts, nowMs));
  const isUnderWay = (each: KeptCertificate) => publication(each.serial).kind === "under way";
  // Superseded ones are kept while they are valid, in case the newer one is revoked.
  const keep = [
    ...onChain.filter((each) => kept.has(each.serial) || each === serve).slice(0, certificatesKept),
    ...pending.filter((each) => each === wanted || isUnderWay(each)),
  ];
  return { serve, keep, next: nextStep() };

  function nextStep(): NextStep {
    if (serve && isGood(serve, hosts, nowMs)) return { kind: "nothing", untilMs: renewAtMs(serve) };
    const waitedFor = pending.find(isUnderWay);
    if (waitedFor) return { kind: "wait", why: `certificate ${waitedFor.serial} is on its way to the chain` };
    if (!wanted) return { kind: "make", why: whyAnother(serve, state) };
    const published = publication(wanted.serial);
    if (published.kind !== "failed" || published.againAtMs <= nowMs) return { kind: "publish", certificate: wanted };
    return { kind: "wait", why: published.why };
  }
}

function isGood(certificate: KeptCertificate, hosts: readonly string[], nowMs: number): boolean {
  return certificate.serves(hosts) && isValidAt(certificate, nowMs) && nowMs < renewAtMs(certificate);
}

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

/** Or at least a week before its end. */
const certificateRenewLeastMs = 7 * day;

export type KeptCertificate = ReturnType<typeof readKept>;

export function readKept({ certificate, key }: CertificateWithKey, owner: Address) {
  const read = new X509Certificate(certificate);
  if (commonName(read.subject) !== owner) throw new Error(`the certificate is not that of ${owner}`);
  if (!read.checkPrivateKey(createPrivateKey(key))) throw new Error("the key does not belong to the certificate");
  return {
    ...{ certificate, key },
    /** Decimal, as on the chain; unique within an account. */
    serial: `${serialOf(read)}`,
    fromMs: read.validFromDate.getTime(),
    untilMs: read.validToDate.getTime(),
    der: read.raw,
    /** Whether it is a server certificate for all of these names. */
    serves: (hosts: readonly string[]) =>
      (read.keyUsage ?? []).includes(serverAuth) && hosts.every((host) => isFor(read, host)),
  };
}

function isFor(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

/** With the label that the chain requires. */
export function publicKeyOf({ certificate }: CertificateWithKey): string {
  return pem("EC PUBLIC KEY", new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" }));
}

export function renewAtMs({ fromMs, untilMs }: Pick<KeptCertificate, "fromMs" | "untilMs">): number {
  return untilMs - Math.max((untilMs - fromMs) * certificateRenewShare, certificateRenewLeastMs);
}
