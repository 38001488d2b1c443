/** Makes, stores, publishes and serves the provider's certificate, which stays served while chain or cluster do not answer. */
import { X509Certificate } from "node:crypto";
import { Cert_State } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { type CertificateWithKey, readCertificateFile } from "../../chain/certificates/certificate-file.ts";
import { makeCertificate, newSerial } from "../../chain/certificates/make-certificate.ts";
import type { Chain, Settled, SettledResult, Step } from "../../chain/chain.ts";
import type { Signer } from "../../chain/keys/signer.ts";
import { createCertificateMessage } from "../../chain/tx/messages.ts";
import { type Intent, isUnderWay } from "../../journal/intents.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Address } from "../../market/address.ts";
import { largest } from "../../runtime/bigint.ts";
import { type Clock, formatTime, nsToMs } from "../../runtime/clock.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { hour } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import { certificateCheckMs, certificateRetryMs } from "../acme/certificate-issuer.ts";
import type { CertificateStore, StoredCertificates } from "./certificate-store.ts";
import { createSource } from "./file-certificate.ts";
import {
  type CertificateDecision,
  type CertificateState,
  decideOnCertificate,
  isValidAt,
  type KeptCertificate,
  newValidity,
  type Publication,
  publicKeyOf,
  readKept,
} from "./own-certificate.ts";

/** Difference between clock and block time from which no certificate is made or removed. */
const certificateClockMs = hour;

interface CertificateChain extends Pick<Chain, "provider"> {
  readonly mirror: Pick<Chain["mirror"], "ready" | "height" | "timeNs">;
  readonly queries: Pick<Chain["queries"], "certificates">;
  readonly outbox: Pick<Chain["outbox"], "intentOf" | "wake">;
}

interface KeeperDeps extends RuntimeDeps {
  readonly chain: CertificateChain;
  readonly journal: Journal;
  readonly signer: Signer;
  readonly store: CertificateStore;
  readonly homePath: string | undefined;
  /** Public host names. */
  readonly hosts: readonly string[];
}

export type CertificateKeeper = ReturnType<typeof createCertificateKeeper>;

const key = "own";

export function createCertificateKeeper(deps: KeeperDeps) {
  const { chain, journal, signer, store, homePath, hosts, clock, log } = deps;
  const owner = chain.provider;
  const source = createSource<KeptCertificate>();
  const { held, take } = createHeldCertificates(owner, log);
  let error: string | undefined;
  /** Why the last check changed nothing. */
  let blockedBy: string | undefined;
  /** The newest block that may have changed a certificate of this account. */
  let changedAt = 0n;

  const { clockFault, nowMs } = createChainClock(chain, clock);

  function serve(next: KeptCertificate | undefined): void {
    if (!source.show(next)) return;
    if (next) log.info("serving own certificate", { serial: next.serial, until: formatTime(next.untilMs) });
    else log.error("no certificate to serve", { reason: error });
  }

  async function work(_: string, signal: AbortSignal): Promise<Outcome> {
    if (source.current && source.current.untilMs <= nowMs()) serve(undefined);
    try {
      const outcome = await reconcile(signal);
      error = outcome.kind === "waiting" ? outcome.why : undefined;
      return outcome;
    } catch (thrown) {
      error = reasonOf(thrown);
      throw thrown;
    }
  }

  async function reconcile(signal: AbortSignal): Promise<Outcome> {
    if (homePath !== undefined) take(homePath, () => [readCertificateFile(homePath, signer)].filter((each) => !!each));
    const onChain = await readChain(chain, changedAt, signal);
    const decide = (kept: ReadonlySet<string>) =>
      decideOn(onChain, { held: [...held.values()], kept, hosts, nowMs: nowMs() }, journal);
    // First by what is held: a revoked one goes, also where the store cannot be read.
    serve(decide(new Set(held.keys())).serve);
    const stored = await store.read(signal);
    const kept = new Set(stored.certificates.flatMap((each) => [...take(store.where, () => [each])]));
    const verdict = decide(kept);
    serve(verdict.serve);
    const { next, keep: wanted } = verdict;
    const isKept = wanted.length === kept.size && wanted.every(({ serial }) => kept.has(serial));
    blockedBy = clockFault();
    // By a wrong clock a valid one is expired, and a new one not valid yet.
    if (blockedBy !== undefined && (next.kind === "make" || !isKept)) return waiting("chain", blockedBy);
    if (next.kind === "make" || !isKept) {
      const made = next.kind === "make" ? [makeAnother(next.why, deps)] : [];
      await keep([...wanted, ...made], stored, signal);
      return recheck(0);
    }
    if (next.kind === "publish") {
      await publish(next.certificate, deps);
      return waiting("chain", `certificate ${next.certificate.serial} is on its way to the chain`);
    }
    if (next.kind === "wait") return waiting("chain", next.why);
    return recheck(Math.min(certificateCheckMs, Math.max(0, next.untilMs - nowMs())));
  }

  async function keep(certificates: readonly KeptCertificate[], stored: StoredCertificates, signal: AbortSignal) {
    await store.write(certificates, stored, signal);
    held.clear();
    for (const each of certificates) held.set(each.serial, each);
  }

  const queue = createQueue({ ...deps, name: "certificate", work, pauseMostMs: certificateRetryMs });
  return {
    queue,
    onStep({ block, gap }: Step): void {
      // It has expired, or the clock is correct now.
      const isOver = source.current && !isValidAt(source.current, nowMs());
      if (isOver || (blockedBy !== undefined && clockFault() === undefined)) queue.add(key, "high");
      if (!gap && !block?.certificatesOf.has(owner)) return;
      changedAt = largest(changedAt, block?.height ?? gap?.to ?? 0n);
      queue.add(key, "high");
    },
    onSettled({ id }: Settled): void {
      if (journal.read.intents.get(id)?.subject.startsWith(subjectOf(""))) queue.add(key);
    },
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

function makeAnother(why: string, { chain, hosts, clock, random, log }: KeeperDeps): KeptCertificate {
  const owner = chain.provider;
  const serial = newSerial(clock, random);
  const made = readKept(makeCertificate({ owner, hosts, isServer: true, serial, ...newValidity(clock) }), owner);
  log.info("made a certificate", { serial: made.serial, hosts, until: formatTime(made.untilMs), why });
  return made;
}

function createHeldCertificates(owner: Address, log: Log) {
  /** By serial; kept although the store may lose them. */
  const held = new Map<string, KeptCertificate>();
  const unusable = new Map<string, string>();

  /** Adds usable certificates, and returns their serials. */
  function take(where: string, read: () => readonly CertificateWithKey[]): Set<string> {
    const serials = new Set<string>();
    try {
      for (const each of read()) {
        const found = readKept(each, owner);
        serials.add(found.serial);
        if (!held.has(found.serial)) held.set(found.serial, found);
      }
    } catch (thrown) {
      const reason = reasonOf(thrown);
      if (unusable.get(where) !== reason) log.error("certificate cannot be used", { where, reason });
      unusable.set(where, reason);
    }
    return serials;
  }

  return { held, take };
}

async function readChain(chain: CertificateChain, changedAt: bigint, signal: AbortSignal) {
  const atOrAbove = largest(chain.mirror.height, changedAt);
  const { items, height } = await chain.queries.certificates({ owner: chain.provider }, { atOrAbove, signal });
  const valid = new Map<string, Uint8Array>();
  const revoked = new Set<string>();
  for (const { serial, certificate } of items) {
    if (certificate?.state === Cert_State.valid) valid.set(serial, certificate.cert);
    else revoked.add(serial);
  }
  return { valid, revoked, height };
}

/** The local clock while it agrees with the chain, else block time. */
function createChainClock(chain: CertificateChain, clock: Clock) {
  /** Undefined until the first block is read. */
  const chainNowMs = () => (chain.mirror.ready ? nsToMs(chain.mirror.timeNs) : undefined);

  function clockFault(): string | undefined {
    const chainMs = chainNowMs();
    if (chainMs === undefined) return "the time of the chain is not known yet";
    if (Math.abs(clock.now() - chainMs) <= certificateClockMs) return undefined;
    return `the clock is at ${formatTime(clock.now())}, and the last block at ${formatTime(chainMs)}: set the clock`;
  }

  const nowMs = () => (clockFault() === undefined ? clock.now() : (chainNowMs() ?? clock.now()));

  return { clockFault, nowMs };
}

function decideOn(
  { valid, revoked, height }: Awaited<ReturnType<typeof readChain>>,
  ours: Pick<CertificateState, "held" | "kept" | "hosts" | "nowMs">,
  journal: Journal,
): CertificateDecision {
  const isTheSame = ({ serial, der }: KeptCertificate) => {
    const found = valid.get(serial);
    return found !== undefined && Buffer.from(der).equals(new X509Certificate(found).raw);
  };
  const serials = (some: readonly KeptCertificate[]) => some.map(({ serial }) => serial);
  // Displaced by another one with the same serial, which is final.
  const displaced = ours.held.filter((each) => valid.has(each.serial) && !isTheSame(each));
  return decideOnCertificate({
    ...ours,
    valid: new Set(serials(ours.held.filter(isTheSame))),
    revoked: new Set([...revoked, ...serials(displaced)]),
    publication: (serial) => publicationOf(journal.read.intents.about(subjectOf(serial))[0], height),
  });
}

async function publish(certificate: KeptCertificate, { chain, journal, log }: KeeperDeps): Promise<void> {
  const { serial } = certificate;
  const message = createCertificateMessage(chain.provider, { ...certificate, publicKey: publicKeyOf(certificate) });
  const why = "clients look up the certificate on the chain";
  await journal.durable("publish certificate", ({ intents }) => {
    const [last] = intents.about(subjectOf(serial));
    if (isUnderWay(last)) return;
    intents.file(chain.outbox.intentOf({ subject: subjectOf(serial), why, message, priority: "account" }));
  });
  chain.outbox.wake();
  log.info("publishing certificate", { serial });
}

function subjectOf(serial: string): string {
  return `certificate/${serial}`;
}

/** `height` is that of the query which does not list it as valid. */
function publicationOf(intent: Intent | undefined, height: bigint): Publication {
  if (!intent) return { kind: "none" };
  if (isUnderWay(intent)) return { kind: "under way" };
  const { height: landed = "0", log = "" } = (intent.result ?? {}) as SettledResult;
  if (intent.state === "done" && BigInt(landed) > height) return { kind: "under way" };
  const againAtMs = (intent.settledAtMs ?? 0) + certificateRetryMs;
  return { kind: "failed", againAtMs, why: `the chain did not take the certificate: ${log || intent.state}` };
}
