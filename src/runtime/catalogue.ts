/**
 * Every error the program can tell a person or a client about: docs/errors.md is made from these tables. A message says
 * what happened and to what; the advice says what to do next. Neither ever holds a secret.
 */
import { addressErrors } from "./catalogue/address-errors.ts";
import { boxErrors } from "./catalogue/box-errors.ts";
import { busErrors } from "./catalogue/bus-errors.ts";
import { chainErrors } from "./catalogue/chain-errors.ts";
import { gatewayErrors } from "./catalogue/gateway-errors.ts";
import { inventoryErrors } from "./catalogue/inventory-errors.ts";
import { keyErrors } from "./catalogue/key-errors.ts";
import { kubeErrors } from "./catalogue/kube-errors.ts";
import { leaseErrors } from "./catalogue/lease-errors.ts";
import { manifestErrors } from "./catalogue/manifest-errors.ts";
import { pricingErrors } from "./catalogue/pricing-errors.ts";
import { runningErrors } from "./catalogue/running-errors.ts";
import { settingErrors } from "./catalogue/setting-errors.ts";
import { storageErrors } from "./catalogue/storage-errors.ts";
import { tenantErrors } from "./catalogue/tenant-errors.ts";
import { transactionErrors } from "./catalogue/transaction-errors.ts";
import { valueErrors } from "./catalogue/value-errors.ts";

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

export const catalogue = {
  ...settingErrors,
  ...storageErrors,
  ...runningErrors,
  ...busErrors,
  ...keyErrors,
  ...chainErrors,
  ...transactionErrors,
  ...kubeErrors,
  ...inventoryErrors,
  ...addressErrors,
  ...pricingErrors,
  ...manifestErrors,
  ...leaseErrors,
  ...gatewayErrors,
  ...boxErrors,
  ...tenantErrors,
  ...valueErrors,
};

export type ErrorCode = keyof typeof catalogue;
