/** Keys and certificates of accounts. Lease owners' are read ahead and journaled, so that they may log in while the chain is down. */
import type { Chain, Step } from "../../chain/chain.ts";
import { isOfChain } from "../../chain/chain-failure.ts";
import { runs } from "../../chain/records.ts";
import type { Journal } from "../../journal/journal.ts";
import { type Address, parseAddress } from "../../market/address.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { minute } from "../../runtime/durations.ts";
import type { Metrics } from "../../runtime/metrics.ts";
import { done, type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import { createQueue } from "../../runtime/queue.ts";
import { type AccountKeys, createAccountKeys } from "./account-keys.ts";
import { type ChainCertificates, createChainCertificates, type OwnedCertificate } from "./chain-certificates.ts";
import { createLookups } from "./lookups.ts";

export type KnownAccounts = ReturnType<typeof createKnownAccounts>;

interface KnownAccountsDeps extends RuntimeDeps {
  readonly chain: Pick<Chain, "queries" | "mirror" | "onStep">;
  readonly journal: Pick<Journal, "read" | "relaxed">;
}

export function createKnownAccounts(deps: KnownAccountsDeps) {
  const lookups = createLookups(deps.clock);
  const keys = createAccountKeys({ ...deps, lookups, hasLease: (address) => owners.has(address) });
  const certificates = createChainCertificates({ ...deps, lookups });
  const owners = createLeaseOwners({ ...deps, keys, certificates });
  deps.chain.onStep((step) => {
    certificates.onStep(step);
    owners.onStep(step);
  });
  return {
    keys,
    certificates,
    queue: owners.queue,
    get counts() {
      return lookups.counts;
    },
    measure(metrics: Metrics): void {
      metrics.readEach("counter", "akash_provider_gateway", [
        ["lookups", "Look-ups of keys and certificates of unknown accounts on the chain", () => lookups.counts.sent],
        [
          ...(["lookups_refused", "Look-ups that failed, as the chain did not answer or too many waited"] as const),
          () => lookups.counts.rejected,
        ],
      ]);
      const help = "Cached keys and certificates of accounts, including missing ones";
      metrics.read({ name: "akash_provider_gateway_known", help, kind: "gauge", labels: ["what"] }, () => [
        [{ what: "keys" }, keys.size],
        [{ what: "certificates" }, certificates.size],
      ]);
    },
  };
}

/** Lease owners read at once: after a start there may be thousands. */
const gatewayOwnersAtOnce = 4;
const gatewayKeylessMs = 10 * minute;

interface LeaseOwnersDeps extends KnownAccountsDeps {
  readonly keys: AccountKeys;
  readonly certificates: ChainCertificates;
}

function createLeaseOwners({ chain, journal, keys, certificates, ...runtime }: LeaseOwnersDeps) {
  const queue = createQueue({ name: "lease owners", concurrency: gatewayOwnersAtOnce, work: reconcile, ...runtime });
  let owners = runningOwners();

  function runningOwners(): ReadonlySet<string> {
    return new Set([...chain.mirror.leases()].filter(runs).map(({ id }) => id.owner));
  }

  async function reconcile(address: string, signal: AbortSignal): Promise<Outcome> {
    const owner = parseAddress(address);
    if (!owners.has(owner)) return release(owner);
    try {
      const hasKey = keys.isKept(owner) || (await readKey(owner, signal));
      const found = await certificates.read(owner, signal);
      certificates.keep(owner, found.certificates, found.height);
      await write(owner, found.certificates);
      // An account that has never signed may do so later.
      return hasKey ? done() : recheck(gatewayKeylessMs);
    } catch (thrown) {
      if (!isOfChain(thrown)) throw thrown;
      // A revocation that a block has reported counts after a restart too.
      await write(owner, certificates.keptOf(owner));
      return waiting("chain", thrown.message);
    }
  }

  async function readKey(owner: Address, signal: AbortSignal): Promise<boolean> {
    const key = await keys.read(owner, signal);
    if (!key) return false;
    keys.keep(owner, key);
    await journal.relaxed("a tenant's key", ({ tenants }) => tenants.put({ owner, key }));
    return true;
  }

  async function write(owner: Address, wanted: readonly OwnedCertificate[]): Promise<void> {
    const written = new Set(journal.read.certificates.of(owner).map(({ serial }) => serial));
    const removed = written.difference(new Set(wanted.map(({ serial }) => serial)));
    const added = wanted.filter(({ serial }) => !written.has(serial));
    if (added.length + removed.size === 0) return;
    await journal.relaxed("a tenant's certificates", (tables) => {
      for (const { serial, der } of added) tables.certificates.put({ owner, serial, der });
      for (const serial of removed) tables.certificates.remove(owner, serial);
    });
  }

  async function release(owner: Address): Promise<Outcome> {
    keys.release(owner);
    certificates.release(owner);
    await write(owner, []);
    if (journal.read.tenants.get(owner)) await journal.relaxed("a tenant left", ({ tenants }) => tenants.remove(owner));
    return done();
  }

  for (const { owner, key } of journal.read.tenants.all()) {
    if (owners.has(owner)) keys.keep(parseAddress(owner), key);
    else queue.add(owner);
  }
  for (const owner of journal.read.certificates.owners()) {
    if (owners.has(owner)) certificates.keep(parseAddress(owner), journal.read.certificates.of(owner), 0n);
    else queue.add(owner);
  }
  for (const owner of owners) queue.add(owner);

  return {
    has: (address: Address) => owners.has(address),
    onStep({ block, gap, changed }: Step): void {
      if (changed.some(({ kind }) => kind === "lease")) {
        const before = owners;
        owners = runningOwners();
        for (const owner of before.symmetricDifference(owners)) queue.add(owner);
      }
      if (gap) for (const owner of owners) queue.add(owner);
      for (const owner of block?.certificatesOf ?? []) if (owners.has(owner)) queue.add(owner, "high");
    },
    queue,
  };
}
