/** What the bid engine needs of the cluster: whether an order fits, and that what it promised stays promised. */
import type { Tables } from "../journal/tables.ts";
import type { Fit, Fits, PlacementFailure } from "../market/fit.ts";
import type { GroupSpec } from "../market/group-spec.ts";

export interface Capacity {
  readonly inventory: {
    /** Undefined until one has come. */
    readonly ageMs: number | undefined;
    /** Why nothing can be promised by it: there is none yet, it is too old, its source is silent. */
    readonly error: string | undefined;
  };
  /** Where the group would go now. Takes nothing. */
  fit(group: GroupSpec): Fit;
  /** The same for the addresses it asks to lease; true for a group that asks for none. */
  addressesFor(group: GroupSpec): AddressAnswer;
  /** Looks again, for exactly what was offered, and takes it in one synchronous step. */
  reserve(request: ReserveRequest): Reserved | PlacementFailure;
  /** Gives back what an order had; without a reservation, nothing happens. Resolves when the journal has it. */
  release(orderId: string, why: string): Promise<void>;
  /** What all reservations together hold, bids' and leases', by resource as `soldWith` counts it. */
  readonly sold: ReadonlyMap<string, bigint>;
  /** The orders that have a reservation. */
  reserved(): Iterable<string>;
  /** Told when more may fit than before: a new picture, something released. */
  onRoom(listener: () => void): void;
  /** Told of an order whose reservation has outlived its time. */
  onExpired(listener: (orderId: string) => void): void;
}

export interface AddressAnswer {
  readonly yes: boolean;
  readonly reason: string;
}

interface ReserveRequest {
  readonly orderId: string;
  readonly group: GroupSpec;
  readonly offer: Fits["offer"];
  /** When whoever reserved must have come back to it, at the latest. */
  readonly expiresAtMs: number;
}

export interface Reserved extends Fits {
  /** Puts it into the journal, in the unit of work that also holds what it is for. */
  write(tables: Tables): void;
}
