/** Obtains and renews certificates of a public authority for the public host name; retries with growing pauses. */
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import { growingPauseMs } from "../../runtime/back-off.ts";
import type { Boundary } from "../../runtime/boundary.ts";
import { type Clock, formatTime, withDeadline } from "../../runtime/clock.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { hour, minute } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { type Outcome, recheck } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import { createSource, type DatedCertificate, readPair } from "../certificate/file-certificate.ts";
import { type Authority, type AuthorityOptions, acmePauseMostMs, createAuthority, shortened } from "./authority.ts";
import { type IssuerStorage, noAttempts, openIssuerStorage, type StoredCertificate } from "./issuer-storage.ts";

/** Renewed when this share of its lifetime is left. */
export const certificateRenewShare = 1 / 3;
/** Longest interval between checks. */
export const certificateCheckMs = 6 * hour;
/** Longest pause while a check fails, and before a failed transaction is sent again. */
export const certificateRetryMs = minute;
/** Of a stored error, with a URL, which the authority chooses. */
export const acmeErrorChars = 1_200;
/** From an order to its certificate. */
const acmeOrderMs = 10 * minute;
/** Consecutive failures until a new order is placed: two hours, in which an authority may be back. */
export const acmeOrderTries = 8;
/** First pause between attempts. */
const acmePauseFirstMs = minute;
/** Longest pause after a restart: authorities allow a failure per name every twelve minutes. */
const acmeRestartPauseMs = 12 * minute;

interface IssuerDeps extends RuntimeDeps {
  readonly host: string;
  /** Certificates of another authority are replaced. */
  readonly directoryUrl: string;
  readonly storage: IssuerStorage;
  readonly authority: Authority;
}

export type CertificateIssuer = ReturnType<typeof createCertificateIssuer>;

interface Shown extends DatedCertificate {
  readonly isOfOtherAuthority: boolean;
}

const key = "public";

export function createCertificateIssuer(deps: IssuerDeps) {
  const { host, directoryUrl, storage, clock, log } = deps;
  const source = createSource<Shown>();
  const attempts = createAttempts(deps);
  let error: string | undefined;
  let isClean = false;
  let unusable: string | undefined;

  function show(next: Shown | undefined): void {
    if (!source.show(next)) return;
    if (next) log.info("serving issued certificate", { host, until: formatTime(next.untilMs) });
    else log.error("issued certificate has expired", { host, reason: error });
  }

  async function work(_: string, signal: AbortSignal): Promise<Outcome> {
    if (source.current && source.current.untilMs <= clock.now()) show(undefined);
    try {
      return await look(signal);
    } catch (thrown) {
      if (!signal.aborted) error = reasonOf(thrown);
      throw thrown;
    }
  }

  async function look(signal: AbortSignal): Promise<Outcome> {
    if (!isClean) storage.removeLeftovers();
    isClean = true;
    const stored = storage.certificate();
    show((stored && usable(stored)) ?? source.current);
    const shown = source.current;
    const nowMs = clock.now();
    if (shown && !shown.isOfOtherAuthority && nowMs < renewAtMs(shown)) {
      error = undefined;
      return recheck(Math.min(renewAtMs(shown) - nowMs, certificateCheckMs));
    }
    const againMs = attempts.pauseLeftMs(nowMs);
    if (againMs > 0) {
      error ??= storage.attempts.why;
      return recheck(Math.min(againMs, certificateCheckMs, shown ? shown.untilMs - nowMs : againMs));
    }
    try {
      await attempts.obtain(signal);
    } catch (thrown) {
      signal.throwIfAborted();
      error = attempts.fail(thrown);
    }
    return look(signal);
  }

  /** Undefined where it cannot be served: a new one is issued then. */
  function usable(stored: StoredCertificate): Shown | undefined {
    const shown = source.current;
    if (stored.certificate === shown?.certificate && stored.key === shown.key) return shown;
    try {
      const read = readPair(stored.certificate, stored.key, host, clock.now());
      return { ...read, isOfOtherAuthority: isOfOther(stored, directoryUrl) };
    } catch (thrown) {
      const reason = reasonOf(thrown);
      if (reason !== unusable) log.error("kept certificate cannot be served", { host, reason });
      unusable = reason;
      return undefined;
    }
  }

  const queue = createQueue({ ...deps, name: "issuer", work, pauseMostMs: certificateRetryMs });
  return {
    queue,
    counts: attempts.counts,
    run(signal: AbortSignal): Promise<void> {
      queue.add(key);
      return queue.run(signal);
    },
    onChange: source.onChange,
    get current() {
      return source.current;
    },
    get error() {
      return error;
    },
  };
}

/** Obtains certificates, with back-off. */
function createAttempts({ host, directoryUrl, storage, authority, clock, log }: IssuerDeps) {
  const counts = { issued: 0, failed: 0 };
  /** Since the start: after a restart the pause is shorter, as an operator may have fixed the cause. */
  let failedHere = false;
  let retryAfterMs = 0;

  function pauseLeftMs(nowMs: number): number {
    const { failures, failedAtMs } = storage.attempts;
    if (failures === 0) return 0;
    const growing = growingPauseMs(acmePauseFirstMs, acmePauseMostMs, failures);
    const pauseMs = Math.max(retryAfterMs, failedHere ? growing : Math.min(growing, acmeRestartPauseMs));
    // Not longer after the clock was set back.
    return Math.min(failedAtMs + pauseMs - nowMs, pauseMs);
  }

  async function obtain(signal: AbortSignal): Promise<void> {
    const { failures } = storage.attempts;
    const begun = storage.order();
    log.info("having a certificate issued", { host, directory: directoryUrl, again: failures });
    const issued = await inTime(clock, signal, async (late) => {
      const order = begun.url === undefined ? await open(late) : { ...begun, url: begun.url };
      return { ...(await authority.complete(order, failures, late)), key: order.key };
    });
    const read = check(issued);
    storage.keepCertificate(issued);
    storage.dropOrder();
    counts.issued += 1;
    // Otherwise each check would order another one.
    if (clock.now() >= renewAtMs(read))
      throw new ProviderError("AKP_ACME_ORDER_FAILED", { reason: "it is due for renewal already by the local clock" });
    if (failures > 0) storage.keepAttempts(noAttempts);
    [failedHere, retryAfterMs] = [false, 0];
  }

  async function open(signal: AbortSignal): Promise<{ key: string; url: string }> {
    const opened = await authority.openOrder(signal);
    // Another process that shares the directory may have been faster.
    const { key, url = opened } = storage.order();
    storage.keepOrder({ key, url });
    return { key, url };
  }

  function check({ certificate, key }: CertificateWithKey): DatedCertificate {
    try {
      return readPair(certificate, key, host, clock.now());
    } catch (cause) {
      const reason = `the issued certificate cannot be served: ${reasonOf(cause)}`;
      throw new ProviderError("AKP_ACME_ORDER_FAILED", { reason }, { cause });
    }
  }

  /** Returns the reason, for the operator. */
  function fail(thrown: unknown): string {
    const failure = ProviderError.from(thrown);
    counts.failed += 1;
    // The authority may choose the message.
    const why = shortened(failure.message, acmeErrorChars);
    const failures = storage.attempts.failures + 1;
    // Also after repeated temporary errors: the order may be the cause.
    if (isFinal(failure) || failures % acmeOrderTries === 0) storage.dropOrder();
    storage.keepAttempts({ failures, failedAtMs: clock.now(), why });
    failedHere = true;
    const { retryAfterMs: wanted } = failure.details;
    retryAfterMs = typeof wanted === "number" ? wanted : 0;
    const againAt = formatTime(clock.now() + pauseLeftMs(clock.now()));
    log.warn("no certificate was issued", { host, attempts: failures, againAt, error: failure });
    return why;
  }

  return { counts, pauseLeftMs, obtain, fail };
}

/** On a timeout the same order is continued later. */
async function inTime<T>(clock: Clock, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  try {
    return await withDeadline(clock, acmeOrderMs, work(AbortSignal.any([signal, late.signal])), () => {
      throw new ProviderError("AKP_ACME_ORDER_LATE", { minutes: acmeOrderMs / 60_000 });
    });
  } finally {
    late.abort();
  }
}

/** The order has failed: the next attempt places another one. */
function isFinal({ code, details }: ProviderError): boolean {
  const { status } = details;
  if (code === "AKP_ACME_REFUSED") return typeof status === "number" && status < 500 && status !== 429;
  return code === "AKP_ACME_ORDER_FAILED";
}

function renewAtMs({ fromMs, untilMs }: DatedCertificate): number {
  return untilMs - (untilMs - fromMs) * certificateRenewShare;
}

/** As after a switch from a staging authority. */
function isOfOther({ from }: StoredCertificate, directoryUrl: string): boolean {
  if (from === undefined || from === directoryUrl) return false;
  return !URL.canParse(from) || new URL(from).host !== new URL(directoryUrl).host;
}

export interface IssuerOptions extends AuthorityOptions {
  readonly dir: string;
}

export function openIssuer(
  options: IssuerOptions,
  host: string,
  deps: RuntimeDeps & { readonly boundary: Boundary },
): CertificateIssuer {
  const storage = openIssuerStorage({ ...options, host }, deps);
  const authority = createAuthority(options, { ...deps, host, storage });
  return createCertificateIssuer({ ...options, ...deps, host, storage, authority });
}
