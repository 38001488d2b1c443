/** Has certificates of a public authority issued for our name in time, and retries for ever with growing pauses. */
import type { CertificateWithKey } from "../../chain/certificates/certificate-file.ts";
import { growingPauseMs } from "../../runtime/back-off.ts";
import type { Boundary } from "../../runtime/boundary.ts";
import { type Clock, formatTime, withDeadline } from "../../runtime/clock.ts";
import { hour, minute } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { type Outcome, recheck } from "../../runtime/outcome.ts";
import { createQueue, type Queue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
import { createSource, type PublicCertificate, readPair } from "../certificate/file-certificate.ts";
import { type Authority, type AuthorityOptions, acmePauseMostMs, createAuthority, shortened } from "./authority.ts";
import { type IssuerStorage, noAttempts, openIssuerStorage, type StoredCertificate } from "./issuer-storage.ts";

/** Renewed when this share of its life is left: four months for whatever is in the way, an empty wallet for instance … */
export const certificateRenewShare = 1 / 3;
/** How often the chain is asked although no block told that anything of ours has changed. */
export const certificateCheckMs = 6 * hour;
/** Longest pause while it cannot be asked, and before the chain is offered again what it did not take. */
export const certificateRetryMs = minute;
/** Of all that is kept of a failure, with the address that it was at, which an authority makes up too. */
export const acmeErrorChars = 1_200;
/** From an order to its certificate: the authority asks us within seconds, and again for a while. */
const acmeOrderMs = 10 * minute;
/** Failures in a row until an order is left for another: two hours, in which an authority that was away may be back. */
export const acmeOrderTries = 8;
/** Between attempts, at first … */
const acmePauseFirstMs = minute;
/** After a start, of what failed before it: authorities allow a failure of a name every twelve minutes. */
const acmeRestartPauseMs = 12 * minute;

interface IssuerDeps {
  readonly host: string;
  /** The ACME directory of the authority: a certificate of another one is replaced. */
  readonly directoryUrl: string;
  readonly storage: IssuerStorage;
  readonly authority: Authority;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface CertificateIssuer extends PublicCertificate {
  readonly queue: Queue;
  run(signal: AbortSignal): Promise<void>;
  readonly counts: { readonly issued: number; readonly failed: number };
}

interface Shown extends CertificateWithKey {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly isOfAnother: boolean;
}

const key = "public";

export function createCertificateIssuer(deps: IssuerDeps): CertificateIssuer {
  const { host, directoryUrl, storage, clock, random, log } = deps;
  const source = createSource<Shown>();
  const attempts = createAttempts(deps);
  let trouble: string | undefined;
  let isClean = false;
  let unusable: string | undefined;

  function show(next: Shown | undefined): void {
    if (!source.show(next)) return;
    if (next) log.info("serving issued certificate", { host, until: formatTime(next.untilMs) });
    else log.error("issued certificate has expired", { host, reason: trouble });
  }

  async function work(_: string, signal: AbortSignal): Promise<Outcome> {
    if (source.current && source.current.untilMs <= clock.now()) show(undefined);
    try {
      return await look(signal);
    } catch (thrown) {
      if (!signal.aborted) trouble = reasonOf(thrown);
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
    if (shown && !shown.isOfAnother && nowMs < renewAtMs(shown)) {
      trouble = undefined;
      return recheck(Math.min(renewAtMs(shown) - nowMs, certificateCheckMs));
    }
    const againMs = attempts.pauseLeftMs(nowMs);
    if (againMs > 0) {
      trouble ??= storage.attempts.why;
      // What is shown ends in time, whatever is waited for.
      return recheck(Math.min(againMs, certificateCheckMs, shown ? shown.untilMs - nowMs : againMs));
    }
    try {
      await attempts.obtain(signal);
    } catch (thrown) {
      signal.throwIfAborted();
      trouble = attempts.fail(thrown);
    }
    return look(signal);
  }

  /** Undefined where it cannot be shown: another one is issued then. */
  function usable(stored: StoredCertificate): Shown | undefined {
    const shown = source.current;
    if (stored.certificate === shown?.certificate && stored.key === shown.key) return shown;
    try {
      const read = readPair(stored.certificate, stored.key, host, clock.now());
      return { ...read, isOfAnother: isOfAnother(stored, directoryUrl) };
    } catch (thrown) {
      const reason = reasonOf(thrown);
      if (reason !== unusable) log.error("kept certificate cannot be served", { host, reason });
      unusable = reason;
      return undefined;
    }
  }

  const queue = createQueue({ name: "issuer", work, clock, random, log, pauseMostMs: certificateRetryMs });
  return {
    queue,
    counts: attempts.counts,
    run(signal) {
      queue.add(key);
      return queue.run(signal);
    },
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
  };
}

/** Has certificates issued, and remembers how often in a row that failed. */
function createAttempts({ host, directoryUrl, storage, authority, clock, log }: IssuerDeps) {
  const counts = { issued: 0, failed: 0 };
  /** Since our start: what failed before it is waited for less, as a person may have put it right. */
  let failedHere = false;
  let askedForMs = 0;

  function pauseLeftMs(nowMs: number): number {
    const { failures, failedAtMs } = storage.attempts;
    if (failures === 0) return 0;
    const growing = growingPauseMs(acmePauseFirstMs, acmePauseMostMs, failures);
    const pauseMs = Math.max(askedForMs, failedHere ? growing : Math.min(growing, acmeRestartPauseMs));
    // A clock that was put back must not make it longer.
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
    // Otherwise the next look would order the next one, and so on, until the authority has enough of us.
    if (clock.now() >= renewAtMs(read))
      throw new ProviderError("AKP_ACME_ORDER_FAILED", { reason: "by our clock it is to be renewed already" });
    if (failures > 0) storage.keepAttempts(noAttempts);
    [failedHere, askedForMs] = [false, 0];
  }

  async function open(signal: AbortSignal): Promise<{ key: string; url: string }> {
    const opened = await authority.openOrder(signal);
    // Whoever shares the folder with us may have been faster; an order that nobody goes on with costs nothing.
    const { key, url = opened } = storage.order();
    storage.keepOrder({ key, url });
    return { key, url };
  }

  function check({ certificate, key }: CertificateWithKey): ReturnType<typeof readPair> {
    try {
      return readPair(certificate, key, host, clock.now());
    } catch (cause) {
      throw new ProviderError(
        "AKP_ACME_ORDER_FAILED",
        { reason: `the authority issued what cannot be served: ${reasonOf(cause)}` },
        { cause },
      );
    }
  }

  /** Returns why, for the operator. */
  function fail(thrown: unknown): string {
    const error = ProviderError.from(thrown);
    counts.failed += 1;
    // In it may be whatever an authority said to acme-client, and an address that it made up.
    const why = shortened(error.message, acmeErrorChars);
    const failures = storage.attempts.failures + 1;
    // Also one that only ever fails for what may pass by itself: it may be the order that is at fault.
    if (isFinal(error) || failures % acmeOrderTries === 0) storage.dropOrder();
    storage.keepAttempts({ failures, failedAtMs: clock.now(), why });
    failedHere = true;
    const { retryAfterMs } = error.details;
    askedForMs = typeof retryAfterMs === "number" ? retryAfterMs : 0;
    const againAt = formatTime(clock.now() + pauseLeftMs(clock.now()));
    log.warn("no certificate was issued", { host, attempts: failures, againAt, error });
    return why;
  }

  return { counts, pauseLeftMs, obtain, fail };
}

/** An authority that is at it for longer is asked again later, for the same order. */
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

/** The order can come to nothing more: the next try begins anew. */
function isFinal({ code, details }: ProviderError): boolean {
  const { status } = details;
  if (code === "AKP_ACME_REFUSED") return typeof status === "number" && status < 500 && status !== 429;
  return code === "AKP_ACME_ORDER_FAILED";
}

/** With a third of its life left: a month of ninety days, two days of six. */
function renewAtMs({ fromMs, untilMs }: Pick<Shown, "fromMs" | "untilMs">): number {
  return untilMs - (untilMs - fromMs) * certificateRenewShare;
}

/** Where an operator has gone from an authority for trying things out to one that browsers trust, what he has is no use to him. */
function isOfAnother({ from }: StoredCertificate, directoryUrl: string): boolean {
  if (from === undefined || from === directoryUrl) return false;
  return !URL.canParse(from) || new URL(from).host !== new URL(directoryUrl).host;
}

export interface IssuerOptions extends AuthorityOptions {
  readonly dir: string;
}

export function openIssuer(
  options: IssuerOptions,
  host: string,
  deps: Pick<IssuerDeps, "clock" | "random" | "log"> & { readonly boundary: Boundary },
): CertificateIssuer {
  const storage = openIssuerStorage({ ...options, host }, deps);
  const authority = createAuthority(options, { ...deps, host, storage });
  return createCertificateIssuer({ ...options, ...deps, host, storage, authority });
}
