/**
 * The certificates that accounts have on the chain. What a block may have changed is forgotten with that block, so a
 * certificate that was revoked works no longer. Where blocks are missing, what is known has to be confirmed before it counts;
 * if the chain does not answer then, what it said last counts on: tenants are not to be locked out by a node.
 */
import { X509Certificate } from "node:crypto";
import type { Chain, Step } from "../../chain/chain.ts";
import { isOfChain } from "../../chain/chain-failure.ts";
import type { Address } from "../../market/address.ts";
import { largest } from "../../runtime/bigint.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { createRecent } from "../../runtime/recent.ts";
import type { Lookups } from "./lookups.ts";

/** Keys, certificates and what is missing, of people without a lease: a few hundred bytes each. */
export const gatewayStrangers = 4_096;
/** That an account has no key or certificate is believed for a block: then it may have. */
export const gatewayMissingMs = 6 * second;
/** A certificate in use is asked for again now and then, beside the requests, whatever blocks have told. */
export const gatewayCertificateMs = 10 * minute;
/** After the chain did not answer, what it said before counts this long before it is asked again. */
export const gatewaySilenceMs = 10 * second;
/** Tries and the pause between them: a node tells of a block shortly before its state can be read. */
export const gatewayLookupTries = 4;
const gatewayLookupPauseMs = 250;
/** Valid certificates of one tenant that are kept: one for each of his machines. */
const gatewayCertificatesOfOwner = 64;
/** A serial number of a certificate has at most 20 bytes. */
const gatewaySerialBits = 160;

export interface ChainCertificates {
  /**
   * The valid certificate as DER, or undefined where there is none, or it was revoked. At once where it is known; `source`
   * as for keys. Throws AKP_CHAIN_SILENT where the chain would have to be asked and does not answer.
   */
  certificateOf(
    owner: Address,
    serial: bigint,
    source: string,
  ): Uint8Array | undefined | Promise<Uint8Array | undefined>;
}

/** The same for those who have leases with us: theirs are not pushed out by others. */
export interface KeptCertificates extends ChainCertificates {
  /** All that an owner has; of height 0 where it is of an earlier life and has to be confirmed. */
  keep(owner: Address, certificates: readonly OwnedCertificate[], height: bigint): void;
  release(owner: Address): void;
  /** Without those that a block may have changed since. */
  keptOf(owner: Address): readonly OwnedCertificate[];
  /** Asks the chain for all valid ones of an owner, whatever is known. */
  read(owner: Address, signal: AbortSignal): Promise<OwnersCertificates>;
  /** Called with every step along the chain. */
  note(step: Step): void;
  /** Certificates of which anything is remembered. */
  readonly size: number;
}

export interface OwnedCertificate {
  /** In decimal digits, as the chain writes it. */
  readonly serial: string;
  readonly der: Uint8Array;
}

interface OwnersCertificates {
  readonly certificates: readonly OwnedCertificate[];
  readonly height: bigint;
}

interface Known {
  readonly der: Uint8Array;
  /** Of the state in which it was valid. */
  readonly height: bigint;
  readonly sinceMs: number;
  /** It was not confirmed, and is not asked for again until that time, unless blocks are missing since. */
  silence: { readonly untilMs: number; readonly confirmedFrom: bigint };
}

interface ChainCertificatesDeps {
  readonly chain: Pick<Chain, "queries" | "mirror">;
  readonly lookups: Lookups;
  readonly clock: Clock;
  readonly log: Log;
}

export function createChainCertificates({ chain, lookups, clock, log }: ChainCertificatesDeps): KeptCertificates {
  const kept = new Map<Address, Map<string, Known>>();
  const strangers = createRecent<Known>({ most: gatewayStrangers });
  const missing = createRecent<number>({ most: gatewayStrangers });
  /** What is older has to be confirmed: no block that is yet to come tells of what happened before. */
  let confirmedFrom = largest(chain.mirror.height, 1n);
  /** Of the last block that changed somebody's certificates: answers of before may be outdated. */
  let changedAt = 0n;

  function find(owner: Address, serial: string): Known | undefined {
    return kept.get(owner)?.get(serial) ?? strangers.get(nameOf(owner, serial));
  }

  /** Asks until the answer is as new as all that blocks have told. */
  async function askChain(
    filter: { owner: Address; serial?: string },
    signal: AbortSignal,
  ): Promise<OwnersCertificates> {
    for (let left = gatewayLookupTries; ; left -= 1) {
      const newest = largest(changedAt, confirmedFrom);
      try {
        const options = { signal, pageEntries: gatewayCertificatesOfOwner, pages: 1, atOrAbove: newest };
        const { items, height } = await chain.queries.certificates({ ...filter, state: "valid" }, options);
        if (height >= largest(changedAt, confirmedFrom))
          return { certificates: items.flatMap(readCertificate), height };
      } catch (thrown) {
        if (!isOfChain(thrown) || left <= 1) throw thrown;
      }
      if (left <= 1)
        throw new ProviderError("AKP_CHAIN_NOT_YET", { node: "a node", reason: "it is behind our blocks" });
      await sleep(clock, gatewayLookupPauseMs, signal);
    }
  }

  function look(owner: Address, serial: string, source: string): Promise<Uint8Array | undefined> {
    return lookups.ask(`the certificate ${serial} of ${owner}`, source, async (signal) => {
      const { certificates, height } = await askChain({ owner, serial }, signal);
      const found = certificates.find((each) => each.serial === serial);
      learn(owner, serial, found?.der, height);
      return found?.der;
    });
  }

  function learn(owner: Address, serial: string, der: Uint8Array | undefined, height: bigint): void {
    const name = nameOf(owner, serial);
    strangers.delete(name);
    missing.delete(name);
    const ofOwner = kept.get(owner);
    const isKept = ofOwner?.delete(serial);
    if (!der) missing.set(name, clock.monotonicMs() + gatewayMissingMs);
    else if (isKept) ofOwner?.set(serial, knownOf(der, height));
    else strangers.set(name, knownOf(der, height));
  }

  function knownOf(der: Uint8Array, height: bigint): Known {
    return { der, height, sinceMs: clock.monotonicMs(), silence: { untilMs: 0, confirmedFrom } };
  }

  function silenced() {
    return { untilMs: clock.monotonicMs() + gatewaySilenceMs, confirmedFrom };
  }

  /** What the chain says now, or what it said before if it does not answer; but not if a block told of a change meanwhile. */
  async function confirm(owner: Address, serial: string, source: string): Promise<Uint8Array | undefined> {
    try {
      // Who has a lease waits behind no stranger, even of the same place.
      return await look(owner, serial, kept.has(owner) ? owner : source);
    } catch (thrown) {
      const known = find(owner, serial);
      if (!known || !isOfChain(thrown)) throw thrown;
      known.silence = silenced();
      return known.der;
    }
  }

  function forget(owners: ReadonlySet<string>, before: bigint): void {
    for (const [owner, certificates] of kept) {
      if (!owners.has(owner)) continue;
      for (const [serial, { height }] of certificates) if (height < before) certificates.delete(serial);
    }
    for (const recent of [strangers, missing])
      for (const name of [...recent.keys()]) if (owners.has(name.slice(0, name.indexOf("/")))) recent.delete(name);
  }

  return {
    certificateOf(owner, number, source) {
      if (number < 0n || number >= 1n << BigInt(gatewaySerialBits)) return undefined;
      const serial = `${number}`;
      const known = find(owner, serial);
      const nowMs = clock.monotonicMs();
      if (!known) {
        const isMissing = nowMs < (missing.get(nameOf(owner, serial)) ?? 0);
        return isMissing ? undefined : look(owner, serial, source);
      }
      const { untilMs, confirmedFrom: silentSince } = known.silence;
      const wasSilent = untilMs > 0 && silentSince === confirmedFrom;
      if (wasSilent && nowMs < untilMs) return known.der;
      // A chain that hangs is waited for once.
      if (known.height < confirmedFrom && !wasSilent) return confirm(owner, serial, source);
      if (wasSilent || nowMs - known.sinceMs > gatewayCertificateMs) {
        known.silence = silenced();
        confirm(owner, serial, source).catch((error) => log.warn("cannot confirm a certificate", { error }));
      }
      return known.der;
    },
    keep(owner, certificates, height) {
      if (height > 0n && height < changedAt) return;
      kept.set(owner, new Map(certificates.map(({ serial, der }) => [serial, knownOf(der, height)])));
    },
    release: (owner) => void kept.delete(owner),
    keptOf: (owner) => [...(kept.get(owner) ?? [])].map(([serial, { der }]) => ({ serial, der })),
    read: (owner, signal) => askChain({ owner }, signal),
    get size() {
      const ofOwners = [...kept.values()].reduce((sum, certificates) => sum + certificates.size, 0);
      return ofOwners + strangers.size + missing.size;
    },
    note({ block, gap }) {
      confirmedFrom = largest(confirmedFrom, gap?.to ?? 0n);
      if (!block) return;
      // We are behind: what the blocks up to there tell comes later than it happened.
      if (chain.mirror.height > block.height) confirmedFrom = largest(confirmedFrom, chain.mirror.height);
      if (block.certificatesOf.size === 0) return;
      changedAt = largest(changedAt, block.height);
      forget(block.certificatesOf, block.height);
    },
  };
}

function nameOf(owner: Address, serial: string): string {
  return `${owner}/${serial}`;
}

interface Listed {
  readonly serial: string;
  readonly certificate?: { readonly cert: Uint8Array } | undefined;
}

/** One that Node cannot read is none: nobody could present it in a handshake. */
function readCertificate({ serial, certificate }: Listed): OwnedCertificate[] {
  try {
    return [{ serial, der: new X509Certificate(certificate?.cert ?? "").raw }];
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
    return [];
  }
}
