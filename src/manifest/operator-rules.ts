/** What the manifest service needs of the operator's policies. */
import type { Address } from "../market/address.ts";

export interface OperatorRules {
  tenant(owner: Address): Ruling;
  image(image: string): Ruling;
  hostname(host: string): Ruling;
}

export interface Ruling {
  readonly yes: boolean;
  readonly reason: string;
  /** A no that is only told, not done. */
  readonly dryRun: boolean;
}
