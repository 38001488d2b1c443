/**
 * Cache of the certificates that accounts have on the chain. A block that changes an account's certificates evicts them. After
 * missed blocks each is confirmed by the chain; if it does not answer, the cached one counts, so that no node can lock tenants out.
 */
import { X509Certificate } from "node:crypto";
import type { CertificateResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1";
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

/** Cached keys or certificates of accounts without a lease: a few hundred bytes each. */
export const gatewayUnknownAccounts = 4_096;
/** A missing key or certificate is cached for one block. */
export const gatewayMissingMs = 6 * second;
/** A certificate in use is refreshed so often, in the background. */
export const gatewayCertificateMs = 10 * minute;
/** Pause between attempts to refresh while the chain does not answer. */
export const gatewaySilenceMs = 10 * second;
/** Attempts and the pause between them: nodes announce a block shortly before its state can be read. */
export const gatewayLookupTries = 4;
const gatewayLookupPauseMs = 250;
/** Valid certificates per tenant: one for each machine. */
const gatewayCertificatesOfOwner = 64;
/** A serial number of a certificate has at most 20 bytes. */
const serialBits = 160n;

export type ChainCertificates = ReturnType<typeof createChainCertificates>;

export interface OwnedCertificate {
  readonly serial: string;
  readonly der: Uint8Array;
}

type CertificateBytes = Uint8Array | undefined;

interface Known {
  readonly der: CertificateBytes;
  readonly height: bigint;
  readonly sinceMs: number;
  /** It could not be confirmed, and is not read again until then, unless more blocks are missed. */
  unconfirmed?: { readonly untilMs: number; readonly confirmedFrom: bigint };
}

interface ChainCertificatesDeps {
  readonly chain: Pick<Chain, "queries" | "mirror">;
  readonly lookups: Lookups;
  readonly clock: Clock;
  readonly log: Log;
}

export function createChainCertificates({ chain, lookups, clock, log }: ChainCertificatesDeps) {
  /** Of lease owners: other accounts do not evict them. */
  const kept = new Map<string, Map<string, Known>>();
  const others = createLruCache<Known>({ most: gatewayUnknownAccounts });
  /** What is older has to be confirmed: no block to come reports earlier changes. */
  let confirmedFrom = largest(chain.mirror.height, 1n);
  /** Height of the last block that changed certificates: older results may be outdated. */
  let changedAt = 0n;

  function find(owner: Address, serial: string): Known | undefined {
    const known = kept.get(owner)?.get(serial) ?? others.get(nameOf(owner, serial));
    const isOver = known && !known.der && clock.monotonicMs() - known.sinceMs >= gatewayMissingMs;
    return isOver ? undefined : known;
  }

  const query = createQuery(chain, clock, () => largest(changedAt, confirmedFrom));

  function lookUp(owner: Address, serial: string, source: string): Promise<CertificateBytes> {
    return lookups.run(`the certificate ${serial} of ${owner}`, source, async (signal) => {
      const { certificates, height } = await query({ owner, serial }, signal);
      const der = certificates.find((each) => each.serial === serial)?.der;
      const ofOwner = kept.get(owner);
      const isKept = ofOwner?.delete(serial) && der;
      others.delete(nameOf(owner, serial));
      if (isKept) ofOwner?.set(serial, knownOf(der, height));
      else others.set(nameOf(owner, serial), knownOf(der, height));
      return der;
    });
  }

  function knownOf(der: CertificateBytes, height: bigint): Known {
    return { der, height, sinceMs: clock.monotonicMs() };
  }

  /** Reads it again; the cached one counts where the chain does not answer, unless a block has changed it meanwhile. */
  async function confirm(owner: Address, serial: string, source: string): Promise<CertificateBytes> {
    try {
      // Lease owners do not wait behind other clients of the same source.
      return await lookUp(owner, serial, kept.has(owner) ? owner : source);
    } catch (thrown) {
      const known = find(owner, serial);
      if (!known || !isOfChain(thrown)) throw thrown;
      postpone(known);
      return known.der;
    }
  }

  function postpone(known: Known): void {
    known.unconfirmed = { untilMs: clock.monotonicMs() + gatewaySilenceMs, confirmedFrom };
  }

  return {
    /** The valid certificate as DER, at once where it is cached; `source` as for keys. Throws AKP_CHAIN_SILENT. */
    certificateOf(owner: Address, number: bigint, source: string): CertificateBytes | Promise<CertificateBytes> {
      if (number < 0n || number >= 1n << serialBits) return undefined;
      const serial = `${number}`;
      const known = find(owner, serial);
      if (!known) return lookUp(owner, serial, source);
      if (!known.der) return undefined;
      const nowMs = clock.monotonicMs();
      const isPostponed = known.unconfirmed?.confirmedFrom === confirmedFrom;
      if (isPostponed && nowMs < (known.unconfirmed?.untilMs ?? 0)) return known.der;
      // Only the first request waits for a chain that hangs.
      if (known.height < confirmedFrom && !isPostponed) return confirm(owner, serial, source);
      if (isPostponed || nowMs - known.sinceMs > gatewayCertificateMs) {
        postpone(known);
        confirm(owner, serial, source).catch((error) => log.warn("failed to refresh a certificate", { error }));
      }
      return known.der;
    },
    /** All certificates of an owner; of height 0 where they are from an earlier process and have to be confirmed. */
    keep(owner: Address, certificates: readonly OwnedCertificate[], height: bigint): void {
      if (height > 0n && height < changedAt) return;
      kept.set(owner, new Map(certificates.map(({ serial, der }) => [serial, knownOf(der, height)])));
    },
    release: (owner: Address) => void kept.delete(owner),
    /** Without those that a block has evicted. */
    keptOf: (owner: Address): OwnedCertificate[] =>
      [...(kept.get(owner) ?? [])].flatMap(([serial, { der }]) => (der ? [{ serial, der }] : [])),
    read: (owner: Address, signal: AbortSignal) => query({ owner }, signal),
    get size() {
      return kept.values().reduce((sum, certificates) => sum + certificates.size, others.size);
    },
    onStep({ block, gap }: Step): void {
      confirmedFrom = largest(confirmedFrom, gap?.to ?? 0n);
      if (!block) return;
      // While blocks are replayed, changes are reported late.
      if (chain.mirror.height > block.height) confirmedFrom = largest(confirmedFrom, chain.mirror.height);
      if (block.certificatesOf.size === 0) return;
      changedAt = largest(changedAt, block.height);
      for (const owner of block.certificatesOf) evictOlder(kept.get(owner) ?? new Map(), block.height);
      for (const name of [...others.keys()])
        if (block.certificatesOf.has(name.slice(0, name.indexOf("/")))) others.delete(name);
    },
  };
}

function evictOlder(certificates: Map<string, Known>, before: bigint): void {
  for (const [serial, { height }] of certificates) if (height < before) certificates.delete(serial);
}

/** Reads until the result is as new as the blocks. */
function createQuery(chain: ChainCertificatesDeps["chain"], clock: Clock, newest: () => bigint) {
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

function nameOf(owner: Address, serial: string): string {
  return `${owner}/${serial}`;
}

/** None where Node cannot parse it, so that no client can present it. */
function readCertificate({ serial, certificate }: CertificateResponse): OwnedCertificate[] {
  try {
    return [{ serial, der: new X509Certificate(certificate?.cert ?? "").raw }];
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
    return [];
  }
}
