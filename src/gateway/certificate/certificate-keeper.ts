/** Makes, keeps, publishes and serves our own certificate. What is served goes on while chain or cluster are silent, until its end. */
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
import { hour } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import type { Random } from "../../runtime/random.ts";
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

/** By how much our clock and block time may differ before no certificate is made or dropped: more than any block is late. */
const certificateClockMs = hour;

/** What the keeper needs of the chain. */
interface CertificateChain extends Pick<Chain, "provider"> {
  readonly mirror: Pick<Chain["mirror"], "ready" | "height" | "timeNs">;
  readonly queries: Pick<Chain["queries"], "certificates">;
  readonly outbox: Pick<Chain["outbox"], "intentOf" | "wake">;
}

interface KeeperDeps {
  readonly chain: CertificateChain;
  readonly journal: Journal;
  readonly signer: Signer;
  readonly store: CertificateStore;
  readonly homePath: string | undefined;
  /** What clients call us. */
  readonly hosts: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export type CertificateKeeper = ReturnType<typeof createCertificateKeeper>;

const key = "own";

export function createCertificateKeeper(deps: KeeperDeps) {
  const { chain, journal, signer, store, homePath, hosts, clock, random, log } = deps;
  const owner = chain.provider;
  const source = createSource<KeptCertificate>();
  const { held, takeUp } = createHoldings(owner, log);
  let trouble: string | undefined;
  /** Why the last look may have changed nothing. */
  let heldBy: string | undefined;
  /** The newest block in which something of ours may have changed. */
  let changedAt = 0n;

  const { clockFault, nowMs } = createChainClock(chain, clock);

  function serve(next: KeptCertificate | undefined): void {
    if (!source.show(next)) return;
    if (next) log.info("serving own certificate", { serial: next.serial, until: formatTime(next.untilMs) });
    else log.error("no certificate of ours may be served", { reason: trouble });
  }

  async function work(_: string, signal: AbortSignal): Promise<Outcome> {
    if (source.current && source.current.untilMs <= nowMs()) serve(undefined);
    try {
      const outcome = await look(signal);
      trouble = outcome.kind === "waiting" ? outcome.why : undefined;
      return outcome;
    } catch (thrown) {
      trouble = reasonOf(thrown);
      throw thrown;
    }
  }

  async function look(signal: AbortSignal): Promise<Outcome> {
    if (homePath !== undefined)
      takeUp(homePath, () => [readCertificateFile(homePath, signer)].filter((each) => !!each));
    const onChain = await readChain(chain, changedAt, signal);
    const decide = (kept: ReadonlySet<string>) =>
      decideOn(onChain, { held: [...held.values()], kept, hosts, nowMs: nowMs() }, journal);
    // First what is known already: one that was revoked goes, whether or not anything else can be read.
    serve(decide(new Set(held.keys())).serve);
    const stored = await store.read(signal);
    const kept = new Set(stored.certificates.flatMap((each) => [...takeUp(store.where, () => [each])]));
    const verdict = decide(kept);
    serve(verdict.serve);
    const { next, keep: wanted } = verdict;
    const isKept = wanted.length === kept.size && wanted.every(({ serial }) => kept.has(serial));
    heldBy = clockFault();
    // By a wrong clock a good one is over, and a new one never begins.
    if (heldBy !== undefined && (next.kind === "make" || !isKept)) return waiting("chain", heldBy);
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

  const queue = createQueue({ name: "certificate", work, clock, random, log, pauseMostMs: certificateRetryMs });
  return {
    queue,
    onStep({ block, gap }: Step): void {
      // Its end has come, or the clock is right.
      const isOver = source.current && !isValidAt(source.current, nowMs());
      if (isOver || (heldBy !== undefined && clockFault() === undefined)) queue.add(key, "high");
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
    get trouble() {
      return trouble;
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

function createHoldings(owner: Address, log: Log) {
  /** All that we have the key of, by serial: also what the store has lost meanwhile. */
  const held = new Map<string, KeptCertificate>();
  const unusable = new Map<string, string>();

  /** Adds what can be used of what was found, and returns its serials. */
  function takeUp(where: string, read: () => readonly CertificateWithKey[]): Set<string> {
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

  return { held, takeUp };
}

async function readChain(chain: CertificateChain, changedAt: bigint, signal: AbortSignal): Promise<OnChain> {
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

/** The time, as far as our clock and the chain agree on it. */
function createChainClock(chain: CertificateChain, clock: Clock) {
  /** Undefined until the first block is read. */
  const chainNowMs = () => (chain.mirror.ready ? nsToMs(chain.mirror.timeNs) : undefined);

  /** Our clock may be wrong, and block time is late while the chain is not followed. */
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
  { valid, revoked, height }: OnChain,
  ours: Pick<CertificateState, "held" | "kept" | "hosts" | "nowMs">,
  journal: Journal,
): CertificateDecision {
  const isTheSame = ({ serial, der }: KeptCertificate) => {
    const found = valid.get(serial);
    return found !== undefined && Buffer.from(der).equals(new X509Certificate(found).raw);
  };
  const serials = (some: readonly KeptCertificate[]) => some.map(({ serial }) => serial);
  // Where another one has its number, it can never be put there.
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
  const why = "clients look our certificate up on the chain";
  await journal.durable("publish certificate", ({ intents }) => {
    const [last] = intents.about(subjectOf(serial));
    if (isUnderWay(last)) return;
    intents.file(chain.outbox.intentOf({ subject: subjectOf(serial), why, message, priority: "account" }));
  });
  chain.outbox.wake();
  log.info("publishing certificate", { serial });
}

interface OnChain {
  readonly valid: ReadonlyMap<string, Uint8Array>;
  readonly revoked: ReadonlySet<string>;
  readonly height: bigint;
}

function subjectOf(serial: string): string {
  return `certificate/${serial}`;
}

/** `height` is that of the reading which does not show it as valid. */
function publicationOf(intent: Intent | undefined, height: bigint): Publication {
  if (!intent) return { kind: "none" };
  if (isUnderWay(intent)) return { kind: "under way" };
  const { height: landed = "0", log = "" } = (intent.result ?? {}) as SettledResult;
  if (intent.state === "done" && BigInt(landed) > height) return { kind: "under way" };
  const againAtMs = (intent.settledAtMs ?? 0) + certificateRetryMs;
  return { kind: "failed", againAtMs, why: `the chain did not take the certificate: ${log || intent.state}` };
}
