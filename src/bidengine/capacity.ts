/** What the bid engine needs of the cluster: whether an order fits, and reservations. */
import type { Tables } from "../journal/tables.ts";
import type { Fit, Fits, PlacementFailure } from "../market/fit.ts";
import type { GroupSpec } from "../market/group-spec.ts";

export interface Capacity {
  /** The snapshot: its age, undefined until there is one, and why nothing can be promised by it. */
  readonly inventory: { readonly ageMs: number | undefined; readonly error: string | undefined };
  /** Where the group would be placed now. Takes nothing. */
  fit(group: GroupSpec): Fit;
  /** Whether the IP addresses that it leases are free. */
  addressesFor(group: GroupSpec): { readonly yes: boolean; readonly reason: string };
  /** Places exactly this offer again and takes it, synchronously, until `expiresAtMs` unless it is renewed. */
  reserve(request: {
    readonly orderId: string;
    readonly group: GroupSpec;
    readonly offer: Fits["offer"];
    readonly expiresAtMs: number;
  }): Reserved | PlacementFailure;
  /** Does nothing without a reservation. Resolves when the journal has it. */
  release(orderId: string, why: string): Promise<void>;
  /** By all reservations of bids and leases together, by resource as `soldWith` counts it. */
  readonly sold: ReadonlyMap<string, bigint>;
  /** The orders that have a reservation. */
  reserved(): Iterable<string>;
  /** Notified when more may fit than before: a new snapshot, or a release. */
  onRoom(listener: () => void): void;
  /** Notified of an order whose reservation has expired. */
  onExpired(listener: (orderId: string) => void): void;
}

export interface Reserved extends Fits {
  /** Writes it in the unit of work of what it is for. */
  write(tables: Tables): void;
}
