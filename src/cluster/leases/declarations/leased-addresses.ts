/** Which port of which leased address belongs to which lease. Addresses themselves are the IP operator's business. */
import { kinds } from "../../../kube/kinds.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { leasedIp, leasedIpName, readLeasedIp } from "../../../kube/objects/leased-ip.ts";
import type { Address } from "../../../market/address.ts";
import { goQuote } from "../../../market/go-json.ts";
import type { LeaseId } from "../../../market/ids.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { AddressWanted } from "../../capacity/addresses/lease-addresses.ts";
import { createDeclarations, type DeclarationDeps } from "./declarations.ts";

export type LeasedAddresses = ReturnType<typeof createLeasedAddresses>;

export function createLeasedAddresses(
  kube: DeclarationDeps<never>["kube"],
  provider: Address,
  manifestNamespace: string,
) {
  const declarations = createDeclarations<AddressWanted>({
    ...{ kube, kind: kinds.providerLeasedIp, namespace: manifestNamespace, provider },
    subjectOf: leasedIpName,
    objectName: (subject) => subject,
    build: (lease, port) => leasedIp({ lease, ...port }, { manifestNamespace }).object,
    read,
    // The name of a port begins with its owner, so that none is another's before it is declared.
    objection: () => undefined,
    concerns: (subject, changed) => subject === changed,
  });

  /** In one step with what follows it. */
  function rejectForeign(lease: LeaseId, port: AddressWanted): void {
    const holder = declarations.holder(leasedIpName(port));
    const isOwners = holder?.lease?.owner === lease.owner && holder.lease.provider === lease.provider;
    if (holder && !isOwners) throw new ProviderError("AKP_ADDRESS_IN_USE", { name: leasedIpName(port) });
  }

  const { open, release, onChange, declare, has, withheldFrom } = declarations;
  return {
    ...{ open, release, onChange, has, withheldFrom },
    /** The network's DeclareIP without overwrite: a port that another lease has is withheld. */
    declare,
    /**
     * DeclareIP with overwrite: the lease gets the ports of these endpoints also where another lease of its owner has them.
     * All of them, or none; after a crash in between, the same request moves the rest.
     */
    async transfer(
      endpoints: readonly string[],
      lease: LeaseId,
      wanted: readonly AddressWanted[],
      signal: AbortSignal,
    ): Promise<void> {
      const unknown = endpoints.find((name) => !wanted.some(({ endpoint }) => endpoint === name));
      if (unknown !== undefined) throw new ProviderError("AKP_ENDPOINT_UNUSED", { endpoint: goQuote(unknown) });
      const moved = wanted.filter(({ endpoint }) => endpoints.includes(endpoint));
      for (const each of moved) rejectForeign(lease, each);
      await declarations.take(lease, moved, signal);
    },
    get error(): string | undefined {
      return declarations.error;
    },
  };
}

function read(object: KubeObject): { readonly lease: LeaseId; readonly subject: string } | undefined {
  const found = readLeasedIp(object);
  return found && { lease: found.lease, subject: object.metadata.name };
}
