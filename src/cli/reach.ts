/** How the commands of a tenant reach providers: by the chain's word for where they are, and with what the tenant has to show. */
import { getCACertificates } from "node:tls";
import type { Command } from "commander";
import { certificateFilePath, readCertificateFile } from "../chain/certificates/certificate-file.ts";
import type { Signer } from "../chain/keys/signer.ts";
import type { Lease } from "../chain/records.ts";
import { createProviderClient, type ProviderClient } from "../gateway/client/provider-client.ts";
import { type ClientCredentials, certificatesOnChain } from "../gateway/client/provider-connection.ts";
import type { Address } from "../market/address.ts";
import { bidOn, formatDeploymentId, formatLeaseId, type LeaseId } from "../market/ids.ts";
import { printable } from "../market/printable.ts";
import { realClock } from "../runtime/clock.ts";
import { ProviderError, reasonOf } from "../runtime/errors.ts";
import { type ChainConnection, openSigner, withSettings } from "./client.ts";
import { requireKey, type TakenSettings } from "./settings.ts";
import type { DeploymentFlags, GroupFlags, LeaseFlags, ProviderFlags } from "./tenant-flags.ts";

export interface ProviderReach {
  /** Undefined where --provider-url says where it is and nothing says whose it is. */
  readonly provider: Address | undefined;
  readonly client: ProviderClient;
}

/** For who needs nothing but what everybody may see. */
export function withProvider<T>(
  flags: ProviderFlags,
  command: Command,
  work: (reach: ProviderReach) => Promise<T>,
): Promise<T> {
  return withSettings(command, async (_, connect) => {
    const { provider } = flags;
    if (!provider && !flags.providerUrl) command.error("error: name a provider by its address, or with --provider-url");
    return use({ provider, flags, connect, credentials: { kind: "none" } }, work);
  });
}

/** The provider that has the lease of a group: as flags say, or as the chain does. */
export function withLessor<T>(
  flags: GroupFlags & { readonly oseq?: number },
  command: Command,
  work: (reach: ProviderReach) => Promise<T>,
): Promise<T> {
  return withTenant(flags, command, async ({ signer, credentials, connect }) => {
    const provider = flags.provider ?? (flags.providerUrl ? undefined : await lessorOf());
    return use({ provider, flags, connect, credentials }, work);

    async function lessorOf(): Promise<Address> {
      const { gseq, oseq } = flags;
      const leases = await activeLeases(await connect(), signer, flags);
      const ours = leases.find(({ id }) => id.gseq === gseq && (oseq === undefined || id.oseq === oseq));
      return ours?.id.provider ?? noLease(signer, flags);
    }
  });
}

/** Every provider that has a lease of the deployment, one after the other: that one of them fails keeps nothing from the others. */
export function withLessors<T>(
  flags: DeploymentFlags,
  command: Command,
  work: (reach: ProviderReach) => Promise<T>,
  failed: (provider: Address | undefined, thrown: unknown) => T,
): Promise<readonly T[]> {
  return withTenant(flags, command, async ({ signer, credentials, connect }) => {
    const results: T[] = [];
    for (const provider of flags.providerUrl ? [flags.provider] : await lessors()) {
      const result = use({ provider, flags, connect, credentials }, work);
      results.push(await result.catch((thrown: unknown) => failed(provider, thrown)));
    }
    return results;

    async function lessors(): Promise<readonly Address[]> {
      const leases = await activeLeases(await connect(), signer, flags);
      const all = new Set(leases.map(({ id }) => id.provider));
      const wanted = [...all].filter((provider) => flags.provider === undefined || provider === flags.provider);
      return wanted.length > 0 ? wanted : noLease(signer, flags);
    }
  });
}

/** Works on all leases of the deployment that the flags select. One failure does not stop the others; then it is thrown. */
export function withLeases(
  flags: LeaseFlags,
  command: Command,
  work: (lease: LeaseId, client: ProviderClient) => Promise<void>,
): Promise<void> {
  return withTenant(flags, command, async ({ signer, credentials, connect }) => {
    const { dseq, gseq, oseq, provider } = flags;
    const leases = flags.providerUrl ? [named()] : await chosen();
    const workOn = async (lease: LeaseId) => {
      const done = use({ provider: lease.provider, flags, connect, credentials }, ({ client }) => work(lease, client));
      await done.catch((thrown: unknown) => {
        if (leases.length > 1) process.stderr.write(`${formatLeaseId(lease)}: ${printable(reasonOf(thrown))}\n`);
        throw thrown;
      });
    };
    for (const result of await Promise.allSettled(leases.map(workOn))) {
      if (result.status === "rejected") throw result.reason;
    }

    function named(): LeaseId {
      if (!provider) command.error("error: say whose it is too, with --provider");
      return bidOn({ owner: signer.address, dseq, gseq, oseq }, provider);
    }

    async function chosen(): Promise<readonly LeaseId[]> {
      const isGiven = (name: string) => command.getOptionValueSource(name) !== "default";
      const found = (await activeLeases(await connect(), signer, flags)).map(({ id }) => id);
      const wanted = found.filter(
        (id) =>
          (provider === undefined || id.provider === provider) &&
          (!isGiven("gseq") || id.gseq === gseq) &&
          (!isGiven("oseq") || id.oseq === oseq),
      );
      return wanted.length > 0 ? wanted : noLease(signer, flags);
    }
  });
}

interface Tenant {
  readonly signer: Signer;
  readonly credentials: ClientCredentials;
  readonly connect: () => Promise<ChainConnection>;
}

function withTenant<T>(flags: DeploymentFlags, command: Command, work: (tenant: Tenant) => Promise<T>): Promise<T> {
  return withSettings(command, async (config, connect) => {
    const { from, keyFile } = config.values;
    requireKey(config.values);
    const signer = await openSigner(config);
    if (flags.owner !== undefined && flags.owner !== signer.address) {
      const details = { path: keyFile ?? from ?? "", found: signer.address, wanted: flags.owner };
      throw new ProviderError("AKP_KEY_ADDRESS_DIFFERS", details);
    }
    return work({ signer, credentials: credentialsOf(flags, signer, config), connect });
  });
}

function credentialsOf({ authType }: DeploymentFlags, signer: Signer, { values }: TakenSettings): ClientCredentials {
  if (authType === "jwt") return { kind: "jwt", signer };
  const path = certificateFilePath(values.home, signer.address);
  const certificate = readCertificateFile(path, signer);
  if (!certificate) throw new ProviderError("AKP_CERTIFICATE_MISSING", { path });
  return { kind: "mtls", certificate };
}

interface Use {
  readonly provider: Address | undefined;
  readonly flags: ProviderFlags;
  readonly credentials: ClientCredentials;
  readonly connect: () => Promise<ChainConnection>;
}

async function use<T>(given: Use, work: (reach: ProviderReach) => Promise<T>): Promise<T> {
  const { provider, flags, credentials, connect } = given;
  const url = flags.providerUrl ?? (await urlOf(provider, flags, connect));
  const client = createProviderClient({
    ...{ url, provider, credentials, clock: realClock },
    onChain: flags.offline ? undefined : async (...about) => certificatesOnChain((await connect()).queries)(...about),
    // A machine may lack the package with the authorities, and may have some of its own.
    roots: [...new Set([...getCACertificates("system"), ...getCACertificates("default")])],
  });
  try {
    return await work({ provider, client });
  } finally {
    client.close();
  }
}

async function urlOf(provider = "", { offline }: ProviderFlags, connect: Use["connect"]): Promise<string> {
  if (offline) {
    const reason = "the chain knows where it is, and may not be asked (--offline)";
    throw new ProviderError("AKP_PROVIDER_UNREACHABLE", { url: provider, reason });
  }
  const { value } = await (await connect()).queries.provider(provider as Address);
  if (!value) throw new ProviderError("AKP_PROVIDER_UNKNOWN", { provider });
  return value.hostUri;
}

async function activeLeases({ queries }: ChainConnection, { address }: Signer, { dseq }: DeploymentFlags) {
  const { items } = await queries.leases({ owner: address, dseq, state: "active" });
  return items as readonly Lease[];
}

function noLease({ address }: Signer, { dseq }: DeploymentFlags): never {
  throw new ProviderError("AKP_NO_ACTIVE_LEASE", { deployment: formatDeploymentId({ owner: address, dseq }) });
}
