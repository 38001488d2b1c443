/** Which card a pair of PCI ids is: the market's names, by vendor and device. */
export interface RegistryDevice {
  /** The model, for instance "h200". */
  readonly name: string;
  /** "PCIe", "SXM5" */
  readonly interface: string;
  /** "141Gi" */
  readonly memorySize?: string;
}

export interface RegistryVendor {
  readonly name: string;
  /** By device id, four lower-case hex digits. */
  readonly devices: ReadonlyMap<string, RegistryDevice>;
}

export interface Registry {
  /** By vendor id, four lower-case hex digits. */
  readonly vendors: ReadonlyMap<string, RegistryVendor>;
  /** Entries that made no sense and were left out, and why. */
  readonly problems: readonly string[];
}

/** Where both know a card, the second has the say. */
export function mergeRegistries(base: Registry, over: Registry): Registry {
  const vendors = new Map(base.vendors);
  for (const [id, { name, devices }] of over.vendors) {
    vendors.set(id, { name, devices: new Map([...(base.vendors.get(id)?.devices ?? []), ...devices]) });
  }
  return { vendors, problems: over.problems };
}

/** "SXM5" is "sxm", as node labels and tenants write it: a card is on a socket or in a slot, whatever its generation. */
export function interfaceKind(text: string): string {
  const kind = text.toLowerCase();
  return kind.startsWith("sxm") ? "sxm" : kind;
}
