/**
 * The certificates that accounts have on the chain. What a block may have changed is forgotten with it. Where blocks are missing,
 * what is known has to be confirmed; if the chain does not answer then, its last answer counts, so that no node can lock tenants out.
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
import { createLruCache } from "../../runtime/lru-cache.ts";
import type { Lookups } from "./lookups.ts";

/** Accounts or certificates without a lease that are remembered: a few hundred bytes each. */
export const gatewayUnknownAccounts = 4_096;
/** That an account has no key or certificate is believed for a block: then it may have. */
export const gatewayMissingMs = 6 * second;
/** A certificate in use is looked up again so often, beside the requests. */
export const gatewayCertificateMs = 10 * minute;
/** While the chain does not answer it is asked again so often. */
export const gatewaySilenceMs = 10 * second;
/** Tries and the pause between them: a node tells of a block shortly before its state can be read. */
export const gatewayLookupTries = 4;
const gatewayLookupPauseMs = 250;
/** Valid certificates of one tenant that are kept: one for each machine. */
const gatewayCertificatesOfOwner = 64;
/** A serial number of a certificate has at most 20 bytes. */
const serialBits = 160n;

export interface ChainCertificates {
  /**
   * The valid certificate as DER; undefined where there is none, or it was revoked. At once where it is known; `source` as for
   * keys. Throws AKP_CHAIN_SILENT where the chain does not answer.
   */
  certificateOf(owner: Address, serial: bigint, source: string): MaybeLater<Uint8Array | undefined>;
}

type MaybeLater<T> = T | Promise<T>;

export type KeptCertificates = ReturnType<typeof createChainCertificates>;

export interface OwnedCertificate {
  readonly serial: string;
  readonly der: Uint8Array;
}

interface Known {
  readonly der: Uint8Array | undefined;
  readonly height: bigint;
  readonly sinceMs: number;
  /** It could not be confirmed, and is not asked for again until then, unless blocks are missing since. */
  silence?: { readonly untilMs: number; readonly confirmedFrom: bigint };
}

interface ChainCertificatesDeps {
  readonly chain: Pick<Chain, "queries" | "mirror">;
  readonly lookups: Lookups;
  readonly clock: Clock;
  readonly log: Log;
}

export function createChainCertificates({ chain, lookups, clock, log }: ChainCertificatesDeps) {
  /** Of lease owners: other accounts do not push them out. */
  const kept = new Map<string, Map<string, Known>>();
  const strangers = createLruCache<Known>({ most: gatewayUnknownAccounts });
  /** What is older has to be confirmed: no block that is yet to come tells of what happened before. */
  let confirmedFrom = largest(chain.mirror.height, 1n);
  /** Of the last block that changed certificates: answers of before may be outdated. */
  let changedAt = 0n;

  function find(owner: Address, serial: string): Known | undefined {
    const known = kept.get(owner)?.get(serial) ?? strangers.get(nameOf(owner, serial));
    const isOver = known && !known.der && clock.monotonicMs() - known.sinceMs >= gatewayMissingMs;
    return isOver ? undefined : known;
  }

  const askChain = createAsking(chain, clock, () => largest(changedAt, confirmedFrom));

  function look(owner: Address, serial: string, source: string): Promise<Uint8Array | undefined> {
    return lookups.ask(`the certificate ${serial} of ${owner}`, source, async (signal) => {
      const { certificates, height } = await askChain({ owner, serial }, signal);
      const der = certificates.find((each) => each.serial === serial)?.der;
      const ofOwner = kept.get(owner);
      const isKept = ofOwner?.delete(serial) && der;
      strangers.delete(nameOf(owner, serial));
      if (isKept) ofOwner?.set(serial, knownOf(der, height));
      else strangers.set(nameOf(owner, serial), knownOf(der, height));
      return der;
    });
  }

  function knownOf(der: Uint8Array | undefined, height: bigint): Known {
    return { der, height, sinceMs: clock.monotonicMs() };
  }

  /** What the chain says now, or what it said before if it does not answer; but not if a block told of a change meanwhile. */
  async function confirm(owner: Address, serial: string, source: string): Promise<Uint8Array | undefined> {
    try {
      // Lease owners do not wait behind others of the same place.
      return await look(owner, serial, kept.has(owner) ? owner : source);
    } catch (thrown) {
      const known = find(owner, serial);
      if (!known || !isOfChain(thrown)) throw thrown;
      silence(known);
      return known.der;
    }
  }

  function silence(known: Known): void {
    known.silence = { untilMs: clock.monotonicMs() + gatewaySilenceMs, confirmedFrom };
  }

  return {
    certificateOf(owner: Address, number: bigint, source: string): MaybeLater<Uint8Array | undefined> {
      if (number < 0n || number >= 1n << serialBits) return undefined;
      const serial = `${number}`;
      const known = find(owner, serial);
      if (!known) return look(owner, serial, source);
      if (!known.der) return undefined;
      const nowMs = clock.monotonicMs();
      const wasSilent = known.silence?.confirmedFrom === confirmedFrom;
      if (wasSilent && nowMs < (known.silence?.untilMs ?? 0)) return known.der;
      // A chain that hangs is waited for once.
      if (known.height < confirmedFrom && !wasSilent) return confirm(owner, serial, source);
      if (wasSilent || nowMs - known.sinceMs > gatewayCertificateMs) {
        silence(known);
        confirm(owner, serial, source).catch((error) => log.warn("cannot confirm a certificate", { error }));
      }
      return known.der;
    },
    /** All that an owner has; of height 0 where it is of an earlier life and has to be confirmed. */
    keep(owner: Address, certificates: readonly OwnedCertificate[], height: bigint): void {
      if (height > 0n && height < changedAt) return;
      kept.set(owner, new Map(certificates.map(({ serial, der }) => [serial, knownOf(der, height)])));
    },
    release: (owner: Address) => void kept.delete(owner),
    /** Without those that a block may have changed since. */
    keptOf: (owner: Address): OwnedCertificate[] =>
      [...(kept.get(owner) ?? [])].flatMap(([serial, { der }]) => (der ? [{ serial, der }] : [])),
    read: (owner: Address, signal: AbortSignal) => askChain({ owner }, signal),
    get size() {
      const ofOwners = [...kept.values()].reduce((sum, certificates) => sum + certificates.size, 0);
      return ofOwners + strangers.size;
    },
    note({ block, gap }: Step): void {
      confirmedFrom = largest(confirmedFrom, gap?.to ?? 0n);
      if (!block) return;
      // We are behind: what the blocks up to there tell comes later than it happened.
      if (chain.mirror.height > block.height) confirmedFrom = largest(confirmedFrom, chain.mirror.height);
      if (block.certificatesOf.size === 0) return;
      changedAt = largest(changedAt, block.height);
      forget(block.certificatesOf, block.height, { kept, strangers });
    },
  };
}

/** Asks until the answer is as new as all that blocks have told. */
function createAsking(chain: ChainCertificatesDeps["chain"], clock: Clock, newest: () => bigint) {
  return async (filter: { owner: Address; serial?: string }, signal: AbortSignal) => {
    for (let left = gatewayLookupTries; ; left -= 1) {
      try {
        const options = { signal, pageEntries: gatewayCertificatesOfOwner, pages: 1, atOrAbove: newest() };
        const { items, height } = await chain.queries.certificates({ ...filter, state: "valid" }, options);
        if (height >= newest()) return { certificates: items.flatMap(readCertificate), height };
        if (left <= 1)
          throw new ProviderError("AKP_CHAIN_NOT_YET", { node: "a node", reason: "it is behind our blocks" });
      } catch (thrown) {
        if (!isOfChain(thrown) || left <= 1) throw thrown;
      }
      await sleep(clock, gatewayLookupPauseMs, signal);
    }
  };
}

function forget(
  owners: ReadonlySet<string>,
  before: bigint,
  { kept, strangers }: { kept: Map<string, Map<string, Known>>; strangers: ReturnType<typeof createLruCache<Known>> },
): void {
  for (const owner of owners)
    for (const [serial, { height }] of kept.get(owner) ?? []) if (height < before) kept.get(owner)?.delete(serial);
  for (const name of [...strangers.keys()]) if (owners.has(name.slice(0, name.indexOf("/")))) strangers.delete(name);
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
