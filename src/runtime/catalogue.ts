/** Every error that a person or client can see; docs/errors.md is made from these tables. No text holds a secret. */
import { boxErrors, chainErrors, keyErrors, transactionErrors } from "./catalogue/chain-errors.ts";
import { addressErrors, inventoryErrors, kubeErrors, leaseErrors } from "./catalogue/cluster-errors.ts";
import { busErrors, runningErrors, settingErrors, storageErrors, valueErrors } from "./catalogue/program-errors.ts";
import { gatewayErrors, manifestErrors, pricingErrors, tenantErrors } from "./catalogue/tenant-errors.ts";
import type { Intersection } from "./intersection.ts";

export { type ErrorEntry, exitCodes } from "./catalogue/entry.ts";

/** In the order of a person's first acquaintance. */
export const areas = [
  { title: "Settings", errors: settingErrors },
  { title: "Data directory and journal", errors: storageErrors },
  { title: "Running", errors: runningErrors },
  { title: "Bus", errors: busErrors },
  { title: "Keys", errors: keyErrors },
  { title: "Chain", errors: chainErrors },
  { title: "Transactions", errors: transactionErrors },
  { title: "Kubernetes", errors: kubeErrors },
  { title: "Inventory", errors: inventoryErrors },
  { title: "Leased addresses", errors: addressErrors },
  { title: "Prices and policies", errors: pricingErrors },
  { title: "Manifests", errors: manifestErrors },
  { title: "Leases", errors: leaseErrors },
  { title: "Gateway", errors: gatewayErrors },
  { title: "Chain in a box", errors: boxErrors },
  { title: "Commands of a tenant", errors: tenantErrors },
  { title: "Values", errors: valueErrors },
] as const;

export const catalogue = Object.assign({}, ...areas.map(({ errors }) => errors)) as Intersection<
  (typeof areas)[number]["errors"]
>;

export type ErrorCode = keyof typeof catalogue;
